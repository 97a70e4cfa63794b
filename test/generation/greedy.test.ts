import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { highest } from "../../src/generation/sampling.ts";
import { translateIds } from "../../src/generation/translator.ts";
import { type ModelConfig, modelConfig, modelLoss } from "../../src/models/any.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { idsOnly, inMemory } from "../support/trained-model.ts";

const sizes = { vocab: 11, width: 16, layers: 2, context: 12 };
const models: Record<string, ModelConfig> = {
  "an encoder–decoder": modelConfig({ model: "encoder-decoder", heads: 2, ...sizes }),
  "one with rotary positions and a source vocabulary": modelConfig({
    model: "encoder-decoder",
    heads: 2,
    positions: "rotary",
    sourceVocab: 7,
    tie: false,
    ...sizes,
  }),
  "one with sinusoids, joined": modelConfig({
    model: "encoder-decoder",
    heads: 2,
    positions: "sinusoidal",
    joinPositions: "concat",
    normPlace: "post",
    ...sizes,
  }),
  "one with ALiBi": modelConfig({ model: "encoder-decoder", heads: 2, positions: "alibi", ...sizes }),
  "a GRU with attention": modelConfig({ model: "rnn", ...sizes }),
  "an LSTM without attention, both ways": modelConfig({ model: "rnn", cell: "lstm", attention: false, bidirectional: true, ...sizes }),
  "a plain RNN, tied": modelConfig({ model: "rnn", cell: "rnn", tie: true, score: "dot", ...sizes }),
};
const [start, end] = [1, 2];
const sources = [Int32Array.of(3, 4, 5, 2), Int32Array.of(6, 2), Int32Array.of(4, 4, 6, 3, 5, 6, 3, 2)];

/** The same the long way: the whole model on the whole target, for each token and each source alone. */
async function slowly(model: ModelConfig, source: Int32Array, weights: ReturnType<typeof initialise>): Promise<number[]> {
  const whole = compile(modelLoss(model, { training: false }), { outputs: ["scores"], threads: 2, sessions: 16 });
  const target = [start];
  while (target.length <= model.context) {
    const feeds = {
      source: array("int32", source, [1, source.length]),
      lengths: array("int32", [source.length]),
      target: array("int32", [target]),
      targets: array("int32", [target.map(() => 0)]),
    };
    const { scores } = await whole.run(feeds, { weights });
    const last = (scores.data as Float32Array).slice(-model.vocab);
    last[start] = Number.NEGATIVE_INFINITY; // a beginning is never written
    const token = highest(last);
    if (token === end) break;
    target.push(token);
  }
  await whole.release();
  return target.slice(1);
}

describe("greedy decoding", () => {
  it.each(Object.entries(models))("of many sources at once equals one by one with the whole model: %s", async (_, model) => {
    const layout = parametersOf(modelLoss(model));
    const weights = initialise(layout, chance(4));
    for (let i = 0; i < weights.data.length; i++) weights.data[i] *= 3; // clear preferences
    const translator = inMemory(model, weights, idsOnly({ start, end }));
    const found = await translateIds(translator, sources);
    await translator.release();
    for (const [i, source] of sources.entries()) expect(found[i].tokens).toEqual(await slowly(model, source, weights));
  });

  it("takes the first of the largest", () => {
    expect(highest([1, 3, 2, 3])).toBe(1);
  });
});
