import { spawnSync } from "node:child_process";
import { Option } from "commander";
import { ConfigError, EngineError } from "../base/errors.ts";
import { benchTrain, type TrainingBench } from "../bench/training-step.ts";
import { workloads } from "../bench/workloads.ts";
import { decodeReport, decodeText } from "./bench-decode.ts";
import { bareCommand } from "./commands.ts";
import { wholeNumber } from "./values.ts";

interface Options {
  readonly threads: number;
  readonly json?: boolean;
  readonly only?: string;
  readonly rounds?: number;
  readonly preset: string;
}

export const bench = bareCommand("bench")
  .option("--threads <n>", "threads of the engine", wholeNumber, 2)
  .addOption(new Option("--only <workload>", "one workload").choices(workloads.map(({ name }) => name)))
  .option("--rounds <n>", "turns of steps and products, in the place of as many as a noisy machine wants (training)", wholeNumber)
  .option("--preset <name>", "the model whose decoding is measured, with random weights", "gpt2")
  .option("--json", "print one line of JSON and nothing else")
  .action(async (name: string, { threads, json, only, rounds, preset }: Options) => {
    if (name === "decode") {
      if (rounds !== undefined) throw new ConfigError("--rounds is for the training bench; leave it out", { code: "config.conflict" });
      const found = await decodeReport(preset, threads);
      if (found) console.log(json ? JSON.stringify(found) : decodeText(found, threads));
      return;
    }
    const chosen = workloads.filter(({ name }) => only === undefined || name === only);
    if (!json) console.error("measuring; a quiet machine gives the best figures …");
    const peaks = chosen.length > 1 ? new Map(chosen.map((one) => [one.name, peakAlone(one.name, threads)])) : undefined;
    const peakOf = (one: string) => peaks?.get(one) ?? process.resourceUsage().maxRSS * 1024;
    const result = await benchTrain(threads, peakOf, chosen, rounds);
    console.log(json ? JSON.stringify(result) : report(result, threads));
  });

/**
 * The most memory of a process that does nothing but this: that of one process only ever grows. Asked for while this one is still small, since a process begins with
 * the peak of the one that started it.
 */
function peakAlone(name: string, threads: number): number {
  const args = [
    ...process.execArgv,
    process.argv[1],
    "bench",
    "train",
    "--only",
    name,
    "--rounds",
    "1",
    "--threads",
    `${threads}`,
    "--json",
  ];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new EngineError(`a process of its own could not train ${name}: ${stderr.trim()}`);
  return (JSON.parse(stdout) as TrainingBench).workloads[0].peakMemoryBytes;
}

bench.registeredArguments[0].choices(["train", "decode"]).default("train");

function report({ matmul, workloads: results }: TrainingBench, threads: number): string {
  const lines = results.map((w) => {
    const speed = `${w.msPerStep.toFixed(1)} ms a step at best (median ${w.medianMsPerStep.toFixed(1)}), ${Math.round(w.tokensPerSecond)} tokens/s`;
    const share = `${w.gflops.toFixed(1)} GFLOPS = ${w.fraction.toFixed(3)} of the MatMul`;
    const rest = `compiled in ${w.compileMs.toFixed(0)} ms, peak memory ${(w.peakMemoryBytes / 2 ** 20).toFixed(0)} MB, loss ${w.firstLoss.toFixed(3)} → ${w.lastLoss.toFixed(3)}`;
    return `${w.name}  ${w.what}\n    ${speed}\n    ${share}\n    ${rest}`;
  });
  return [
    `MatMul 1024³  ${matmul.gflops.toFixed(1)} GFLOPS at best (median ${matmul.medianGflops.toFixed(1)}), ${threads} threads`,
    ...lines,
  ].join("\n");
}
