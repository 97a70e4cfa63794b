import { expect, test } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { type Architecture, modelConfig, modelLoss } from "../../src/models/any.ts";
import { adapted, adaptedMatrices, adapterLayout, loraTargets } from "../../src/models/lora.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { changesOf } from "../../src/runs/adapter.ts";
import { compile, parametersOf } from "../../src/runtime/compile.ts";
import { changedWeights } from "../../src/weights/adapted.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { weightsInMemory } from "../../src/weights/weights.ts";

const sizes = { width: 16, heads: 2, layers: 2, context: 8, vocab: 12 } as const;

const models: Readonly<Record<string, Architecture>> = {
  decoder: modelConfig({ model: "decoder", ...sizes }),
  "grouped queries": modelConfig({ model: "decoder", ...sizes, heads: 4, kvHeads: 2, activation: "swiglu", positions: "rotary" }),
  "keys of another size": modelConfig({ model: "decoder", ...sizes, keySize: 4, valueSize: 6 }),
  encoder: modelConfig({ model: "encoder", ...sizes, task: "classify", labels: 3 }),
  "encoder-decoder": modelConfig({ model: "encoder-decoder", ...sizes }),
  rnn: modelConfig({ model: "rnn", width: 12, layers: 1, vocab: 12, context: 8, task: "lm", cell: "gru" }),
};

const device = nodeDevice({ threads: 1 });

function feedsOf(model: Architecture) {
  const fn = modelLoss(model);
  const shapes = { batch: 2, time: 5, sourceTime: 4 };
  return Object.fromEntries(
    Object.entries(fn.inputs).map(([name, { shape }]) => {
      const dims = shape.map((dim) => dim.bind(shapes).known);
      const count = dims.reduce((a, b) => a * b, 1);
      const value = (i: number) =>
        name === "lengths" ? 4 : (i * 7 + name.length) % (model.model === "encoder" && name === "targets" ? 3 : 12);
      return [
        name,
        array(
          "int32",
          Int32Array.from({ length: count }, (_, i) => value(i)),
          dims,
        ),
      ];
    }),
  );
}

async function lossAt(model: Architecture, weights: ParameterBuffer, lora?: Parameters<typeof adapted>[1]): Promise<number> {
  const fn = modelLoss(model, { training: false });
  const compiled = compile(lora ? adapted(fn, lora, { training: false }) : fn, { device, outputs: ["loss"] });
  try {
    return Number((await compiled.run(feedsOf(model), { weights })).loss.data[0]);
  } finally {
    await compiled.release();
  }
}

/** The parameters of a model with adapters, which do something. */
function moved(model: Architecture, lora: Parameters<typeof adapted>[1]) {
  const weights = initialise(parametersOf(adapted(modelLoss(model), lora)), chance(2));
  const own = new ParameterBuffer(adapterLayout(adapted(modelLoss(model), lora)));
  for (const { name } of own.layout.entries) {
    const source = chance(3).fork(name);
    const data = weights.view(name).data as Float32Array;
    for (let i = 0; i < data.length; i++) data[i] = 0.3 * source.normal(i);
    (own.view(name).data as Float32Array).set(data);
  }
  return { weights, own };
}

for (const [name, model] of Object.entries(models)) {
  const lora = { rank: 3, alpha: 5, dropout: 0, targets: loraTargets(modelLoss(model), ["all"]) };

  test(`${name}: an adapter at its start changes nothing, and put into the weights says what it says beside them`, async () => {
    const start = initialise(parametersOf(adapted(modelLoss(model), lora)), chance(2));
    const base = initialise(parametersOf(modelLoss(model)), chance(2));
    const untouched = await lossAt(model, base);
    expect(await lossAt(model, start, lora)).toBe(untouched);
    const { weights, own } = moved(model, lora);
    const beside = await lossAt(model, weights, lora);
    const changes = changesOf(adaptedMatrices(modelLoss(model), lora), lora, own);
    const inside = await lossAt(model, changedWeights(weightsInMemory(base), parametersOf(modelLoss(model)), changes).buffer);
    expect(Math.abs(beside - untouched)).toBeGreaterThan(1e-3);
    expect(Math.abs(beside - inside)).toBeLessThan(2e-6 * Math.max(1, beside));
  });
}

test("queries, keys and values of a joined matrix have adapters of their own, and the names of other matrices are their places", () => {
  const targets = (model: Architecture, asked?: string[], whole?: boolean) => loraTargets(modelLoss(model), asked, { whole });
  expect(targets(models["grouped queries"])).toEqual(["q", "v"]);
  expect(targets(models["grouped queries"], ["all"])).toEqual(["q", "k", "v", "out", "gate", "expand", "contract"]);
  expect(targets(models.decoder, undefined, true)).toEqual(["qkv"]);
  expect(targets(models["keys of another size"], ["all"])).toEqual(["q", "k", "v", "out", "expand", "contract"]);
  expect(targets(models.encoder, ["labels", "q"])).toEqual(["q", "labels"]);
  expect(targets(models.rnn)).toEqual(["input", "state"]);
  const [first] = adaptedMatrices(modelLoss(models["grouped queries"]), { targets: ["q", "v"] });
  expect(first.parts.map(({ at, rows, a }) => [at, rows, a])).toEqual([
    [0, 16, "decoder/block.0/attention/qkv/lora.q.a"],
    [24, 8, "decoder/block.0/attention/qkv/lora.v.a"],
  ]);
  expect(() => targets(models.decoder, ["quary"])).toThrow('no matrix is called "quary"');
  expect(() => targets(models.decoder, ["q"], true)).toThrow("here queries, keys and values are one matrix, qkv");
});

test("dropout of an adapter is drawn for each of its inputs, in training only", async () => {
  const lora = { rank: 2, alpha: 4, dropout: 0.5, targets: ["q", "v", "contract"] };
  const { weights } = moved(models.decoder, lora);
  const compiled = compile(adapted(modelLoss(models.decoder), lora), { device, outputs: ["loss"] });
  const drawn = async (seed: number) =>
    Number((await compiled.run(feedsOf(models.decoder), { weights, chance: chance(seed) })).loss.data[0]);
  expect(await drawn(1)).toBe(await drawn(1));
  expect(await drawn(1)).not.toBe(await drawn(2));
  await compiled.release();
});
