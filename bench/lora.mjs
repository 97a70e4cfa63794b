// Five steps of fine-tuning a model of Hugging Face, all of it or an adapter: losses, seconds a step and the highest memory, beside bench/lora.py,
// which takes the same steps with PyTorch and PEFT from the same start.
//
//   node bench/lora.mjs <folder> <work> [rank, 0 for all] [steps] [tokens] [checkpoint-blocks]
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { array } from "../dist/base/arrays.js";
import { chance } from "../dist/base/chance.js";
import { familyCalled } from "../dist/hub/families.js";
import { peftConfig, peftModules, peftTensors } from "../dist/hub/peft.js";
import { modelLoss } from "../dist/models/any.js";
import { adapted, adaptedMatrices, adapterLayout } from "../dist/models/lora.js";
import { nodeDevice } from "../dist/node/device.js";
import { runWeights } from "../dist/runs/folder.js";
import { openModel } from "../dist/runs/open-model.js";
import { parametersOf } from "../dist/runtime/compile.js";
import { fit } from "../dist/training/fit.js";
import { AdamW } from "../dist/training/optimizers.js";
import { initialise } from "../dist/weights/initialise.js";
import { safetensorsParts } from "../dist/weights/safetensors.js";

const [folder, work, rankText = "8", stepsText = "5", timeText = "64", blocks] = process.argv.slice(2);
const [rank, steps, time] = [rankText, stepsText, timeText].map(Number);
mkdirSync(work, { recursive: true });
const { config, tokenizer, ...run } = openModel(folder);
const { model } = config;
const text = readFileSync(new URL("../data/moby-dick.txt", import.meta.url), "utf8").slice(20_000, 20_000 + 8 * steps * (time + 1));
const ids = tokenizer.encode(text);
const rows = Array.from({ length: steps }, (_, i) => Array.from(ids.slice(i * time, (i + 1) * time + 1)));
writeFileSync(join(work, "ids.json"), JSON.stringify(rows));

const loss = modelLoss(model, { ignore: null });
const weights = runWeights({ config, tokenizer, ...run });
const lora = rank > 0 ? { rank, alpha: 2 * rank, dropout: 0, targets: ["q", "v"] } : undefined;
const trained = lora ? adapted(loss, lora) : loss;
const layout = lora ? adapterLayout(trained) : parametersOf(trained);
const optimizer = new AdamW(layout, { weightDecay: 0 });
const frozen = new Set(parametersOf(loss).entries.map(({ name }) => name));
if (lora) {
  initialise(layout, chance(1), optimizer.weights);
  const [matrices, modules] = [adaptedMatrices(loss, lora), peftModules(model, familyCalled(config.hub.family))];
  const place = join(work, "start");
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "adapter_config.json"), JSON.stringify(peftConfig(lora, { matrices, modules, base: folder, task: "lm" })));
  writeFileSync(
    join(place, "adapter_model.safetensors"),
    Buffer.concat(safetensorsParts(peftTensors(matrices, modules, optimizer.weights), {})),
  );
} else for (const { name, offset } of layout.entries) optimizer.weights.data.set(weights.numbers(name), offset);

const batches = {
  perEpoch: steps,
  batch: (index) => ({
    feeds: {
      ids: array("int32", Int32Array.from(rows[index].slice(0, -1)), [1, time]),
      targets: array("int32", Int32Array.from(rows[index].slice(1)), [1, time]),
    },
    targets: time,
    tokens: time,
    places: time,
  }),
};
const reports = fit(trained, optimizer, batches, {
  steps,
  learningRate: () => (lora ? 1e-3 : 1e-5),
  chance: chance(1),
  device: nodeDevice({ threads: 2 }),
  ...(lora && { baked: { weights: (name) => (frozen.has(name) ? weights.source(name) : undefined), folder: weights.folder } }),
  ...(blocks && { checkpointBlocks: true }),
  clock: () => performance.now() / 1000,
});
const found = { losses: [], seconds: [] };
for await (const report of reports) {
  found.losses.push(report.loss);
  found.seconds.push(report.seconds);
}
const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) / 2 ** 20;
const memory = Object.fromEntries(
  [...readFileSync("/proc/self/status", "utf8").matchAll(/Rss(\w+):\s+(\d+)/g)].map(([, k, v]) => [k, (Number(v) / 2 ** 20).toFixed(2)]),
);
console.log(JSON.stringify({ losses: found.losses, best: Math.min(...found.seconds.slice(1)), peakGiB: peak, memory }));
