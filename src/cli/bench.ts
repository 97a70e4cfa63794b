import { Command } from "commander";
import { benchTrain } from "../bench/train.ts";

export const bench = new Command("bench").description("speed on this machine, as ratios to what the same engine can do at best");

bench
  .command("train", { isDefault: true })
  .description("whole training steps of two small GPTs, beside the best product of two matrices")
  .option("--threads <n>", "threads of the engine", Number, 2)
  .option("--json", "print one line of JSON")
  .action(async ({ threads, json }: { threads: number; json?: boolean }) => {
    const result = await benchTrain(threads, () => process.resourceUsage().maxRSS * 1024);
    if (json) {
      console.log(JSON.stringify(result));
      return;
    }
    console.log(
      `MatMul 1024³      ${result.matmul.gflops.toFixed(1)} GFLOPS at best, ${result.matmul.medianGflops.toFixed(1)} median, ${threads} threads`,
    );
    for (const {
      name,
      msPerStep,
      medianMsPerStep,
      tokensPerSecond,
      gflops,
      fraction,
      peakMemoryBytes,
      compileMs,
      firstLoss,
      lastLoss,
    } of result.workloads) {
      console.log(
        `${name}  ${msPerStep.toFixed(1)} ms a step at best, ${medianMsPerStep.toFixed(1)} median · ${Math.round(tokensPerSecond)} tokens/s · ${gflops.toFixed(1)} GFLOPS = ${fraction.toFixed(3)} of the MatMul · compiled in ${compileMs.toFixed(0)} ms · peak ${(peakMemoryBytes / 2 ** 20).toFixed(0)} MB · loss ${firstLoss.toFixed(3)} → ${lastLoss.toFixed(3)}`,
      );
    }
  });
