// What dropout costs a training step: none, 0.1 and 0.2 of everything, by bytes (as runs of before 0.3) and by flags, in turns in one process, best and median of many, for W1, W2 and an encoder of 2 layers, width 128,
// on 32 × 256 tokens; milliseconds of the clock, and of the processor. The numbers that it drops by are made as a new run makes them.
// Usage (after a build): node scripts/dropout-speed.mjs [rounds] [threads] [W1, W2 or encoder] [folder of compiled files]
import { pathToFileURL } from "node:url";

const [rounds = 8, threads = 2, only, dist = new URL("../dist", import.meta.url).pathname] = process.argv.slice(2);
const from = (file) => import(pathToFileURL(`${dist}/${file}`).href);
const { chance } = await from("base/chance.js");
const { modelConfig, modelLoss } = await from("models/any.js");
const { compile, parametersOf } = await from("runtime/compile.js");
const { nodeDevice } = await from("node/device.js");
const { optimizer: make } = await from("training/optimizers.js");
const { initialise } = await from("weights/initialise.js");

const gpt = { model: "decoder", vocab: 65, activation: "gelu", norm: "layer", positions: "learned", tie: true };
const workloads = {
  W1: { config: { ...gpt, layers: 4, heads: 4, width: 128, context: 64 }, batch: 12, steps: 10 },
  W2: { config: { ...gpt, layers: 6, heads: 6, width: 384, context: 256 }, batch: 8, steps: 2 },
  encoder: { config: { model: "encoder", vocab: 65, labels: 2, layers: 2, heads: 4, width: 128, context: 256 }, batch: 32, steps: 3 },
};

function feedsOf({ config, batch }) {
  const ids = Int32Array.from({ length: batch * config.context }, (_, i) => (Math.floor((i * i) / 7) + i) % config.vocab);
  const array = (data, ...shape) => ({ dtype: "int32", data, shape });
  if (config.model === "encoder")
    return {
      ids: array(ids, batch, config.context),
      lengths: array(new Int32Array(batch).fill(config.context), batch),
      targets: array(
        Int32Array.from({ length: batch }, (_, i) => i % 2),
        batch,
      ),
    };
  return { ids: array(ids, batch, config.context), targets: array(ids, batch, config.context) };
}

async function contestant(workload, { dropout, noise }) {
  const { config, batch } = workload;
  const loss = modelLoss(modelConfig({ ...config, dropout }), config.model === "decoder" ? { ignore: null } : {});
  const sizes = { batch, time: config.context };
  const layout = parametersOf(loss, { bind: sizes });
  const optimizer = make("adamw", layout, { beta1: 0.9, beta2: 0.99, clip: 1 });
  initialise(layout, chance(1), optimizer.weights);
  const compiled = compile(loss, { gradientOf: "loss", outputs: ["loss"], noise, device: nodeDevice({ threads: Number(threads) }) });
  const feeds = feedsOf(workload);
  let step = 0;
  const run = async () => {
    const { weights, gradients } = optimizer;
    await compiled.run(feeds, { weights, gradients, chance: chance(3, "quick").fork(step++) });
    optimizer.step(1e-3);
  };
  await run();
  return { name: noise ? `${dropout}, ${noise}` : "0", run, release: () => compiled.release(), times: [], work: [] };
}

const sorted = (values) => values.toSorted((a, b) => a - b);
for (const [name, workload] of Object.entries(workloads)) {
  if (only && only !== name) continue;
  const ways = [];
  ways.push(await contestant(workload, { dropout: 0 }));
  for (const dropout of [0.1, 0.2]) for (const noise of ["bytes", "flags"]) ways.push(await contestant(workload, { dropout, noise }));
  for (let round = 0; round < Number(rounds); round++)
    for (const { run, times, work } of ways) {
      await new Promise((resolve) => setTimeout(resolve, 30)); // the threads of the one before spin for a while
      for (let i = 0; i < workload.steps; i++) {
        const [begin, before] = [performance.now(), process.cpuUsage()];
        await run();
        times.push(performance.now() - begin);
        const { user, system } = process.cpuUsage(before);
        work.push((user + system) / 1000);
      }
    }
  const [none] = ways;
  for (const { name: way, times, work } of ways) {
    const more = (of) => `${((sorted(of)[0] / sorted(none[of === times ? "times" : "work"])[0] - 1) * 100).toFixed(1)} %`;
    const shown = (of) => `${sorted(of)[0].toFixed(1)} at best, median ${sorted(of)[of.length >> 1].toFixed(1)} ms`;
    console.log(`${name} dropout ${way}: ${shown(times)} (+${more(times)}); of the processor ${shown(work)} (+${more(work)})`);
  }
  for (const { release } of ways) await release();
}
