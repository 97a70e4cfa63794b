// Memory and time of a training step on long contexts: everything kept, the patterns of attention computed again, and whole blocks computed again; each in a process of its own,
// its peak of memory beside what `qkv cost` foretells, and its best step.
// Usage (after a build): node scripts/long-contexts.mjs [contexts, by commas] [batch] [steps] [threads]
import { execFileSync } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";

const [contexts = "1024,2048", batch = "4", steps = "3", threads = "2", context, keeps] = process.argv.slice(2);
const from = (file) => import(pathToFileURL(fileURLToPath(new URL(`../dist/${file}`, import.meta.url))).href);

async function one() {
  const { chance } = await from("base/chance.js");
  const { cost } = await from("cost/cost.js");
  const { modelConfig, modelLoss } = await from("models/any.js");
  const { nodeDevice } = await from("node/device.js");
  const { compile, parametersOf } = await from("runtime/compile.js");
  const { optimizer: make } = await from("training/optimizers.js");
  const { initialise } = await from("weights/initialise.js");
  const [rows, time] = [Number(batch), Number(context)];
  const config = modelConfig({ model: "decoder", vocab: 65, layers: 4, heads: 4, width: 256, context: time });
  const device = nodeDevice({ threads: Number(threads) });
  const { phases, parameters } = await cost(config, { batch: rows, length: time, keeps, phases: ["training"], device });
  const loss = modelLoss(config, { ignore: null });
  const layout = parametersOf(loss);
  const optimizer = make("adamw", layout, { beta1: 0.9, beta2: 0.99, clip: 1 });
  initialise(layout, chance(1), optimizer.weights);
  const { weights, gradients } = optimizer;
  const compiled = compile(loss, { gradientOf: "loss", outputs: ["loss"], device, keeps });
  await compiled.prepare({ batch: rows, time });
  const before = process.memoryUsage().rss;
  const ids = Int32Array.from({ length: rows * time }, (_, i) => (Math.floor((i * i) / 7) + i) % 65);
  const feeds = Object.fromEntries(["ids", "targets"].map((name) => [name, { dtype: "int32", data: ids, shape: [rows, time] }]));
  const [times, work] = [[], []];
  let last;
  for (let i = 0; i < Number(steps); i++) {
    const [begin, used] = [performance.now(), process.cpuUsage()];
    last = await compiled.run(feeds, { weights, gradients });
    await optimizer.step(1e-3);
    times.push(performance.now() - begin);
    const { user, system } = process.cpuUsage(used);
    work.push((user + system) / 1000);
  }
  const peak = process.resourceUsage().maxRSS * 1024 - before;
  const foretold = phases.training.activationBytes;
  const loss0 = Number(last.loss.data[0]);
  return { peak, foretold, ms: Math.min(...times), processorMs: Math.min(...work), loss: loss0, parameters };
}

if (keeps) console.log(JSON.stringify(await one()));
else
  for (const size of contexts.split(",")) {
    let all;
    for (const kept of ["everything", "all but patterns", "block inputs"]) {
      const args = [fileURLToPath(import.meta.url), contexts, batch, steps, threads, size, kept];
      const found = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
      all ??= found;
      const megabytes = (bytes) => `${Math.round(bytes / 2 ** 20).toLocaleString("en")} MiB`;
      console.log(
        `${size} positions, batch ${batch}, ${kept} kept: a step adds ${megabytes(found.peak)} (foretold ${megabytes(found.foretold)}), ${found.ms.toFixed(0)} ms at best, of the processor ${found.processorMs.toFixed(0)} (${(found.processorMs / all.processorMs).toFixed(2)} ×), loss ${found.loss}`,
      );
    }
  }
