import { describe, expect, it } from "vitest";
import { pathLength } from "../../src/inspection/path-length.ts";
import { type ModelInput, modelConfig } from "../../src/models/any.ts";

const base = { layers: 2, heads: 2, width: 8, vocab: 9, context: 64 };
const models: Record<string, ModelInput> = {
  "a decoder": { model: "decoder", ...base },
  "a deeper decoder": { model: "decoder", ...base, layers: 3 },
  "without feed-forward": { model: "decoder", ...base, feedforward: false },
  "with SwiGLU": { model: "decoder", ...base, activation: "swiglu" },
  "with bilinear scores": { model: "decoder", ...base, score: "bilinear" },
  "with GEGLU, grouped queries and a window": { model: "decoder", ...base, activation: "geglu", kvHeads: 1, window: 3, scoreCap: 5 },
  "with values of the first layer": { model: "decoder", ...base, layers: 3, valueResidual: true, activation: "relu2" },
  "with sublayers side by side": { model: "decoder", ...base, parallel: "shared-norm" },
  "with additive scores": { model: "decoder", ...base, score: "additive" },
  "without parameters in attention": { model: "decoder", ...base, attention: "free" },
  "with positions that are joined": { model: "decoder", ...base, joinPositions: "concat" },
  "with rotary positions": { model: "decoder", ...base, positions: "rotary" },
  "with linear attention": { model: "decoder", ...base, attention: "linear" },
  "with narrow heads": { model: "decoder", ...base, multiHead: "narrow" },
  "a classifier": { model: "encoder", ...base, labels: 3 },
  "with a class token": { model: "encoder", ...base, labels: 3, pool: "class" },
  "with a pooler": { model: "encoder", ...base, labels: 3, pool: "first", pooler: "tanh" },
  "of hidden tokens": { model: "encoder", ...base, task: "mlm" },
  "of hidden tokens without a layer of their own": { model: "encoder", ...base, task: "mlm", headTransform: false },
  "of vectors": { model: "encoder", ...base, task: "embed", normalise: true },
  "a tagger": { model: "encoder", ...base, labels: 3, task: "tag" },
  "an encoder–decoder": { model: "encoder-decoder", ...base },
  "a deeper encoder–decoder": { model: "encoder-decoder", ...base, layers: 3 },
  "with a shallow decoder": { model: "encoder-decoder", ...base, layers: 3, decoderLayers: 1, decoderHeads: 4 },
  "an encoder–decoder side by side": { model: "encoder-decoder", ...base, parallel: "own-norm" },
  "an RNN language model": { model: "rnn", width: 6, vocab: 9, task: "lm" },
  "a deeper LSTM": { model: "rnn", width: 6, vocab: 9, task: "lm", layers: 3, cell: "lstm" },
  "an RNN encoder–decoder": { model: "rnn", width: 6, vocab: 9 },
  "a deeper one": { model: "rnn", width: 6, vocab: 9, layers: 3 },
  "without attention": { model: "rnn", width: 6, vocab: 9, attention: false },
  "with dot products": { model: "rnn", width: 6, vocab: 9, score: "dot" },
  "reading both ways": { model: "rnn", width: 6, vocab: 9, bidirectional: true, layers: 2 },
  "reading both ways without attention": { model: "rnn", width: 6, vocab: 9, bidirectional: true, attention: false },
};

describe("path length and sequential steps, counted on the graph, are those of the formula", () => {
  it.each(Object.entries(models))("%s", (_, model) => {
    for (const n of [2, 7]) {
      const { path, sequential } = pathLength(modelConfig(model), n);
      expect([n, path.counted, sequential.counted]).toEqual([n, path.expected, sequential.expected]);
    }
  });
});

it("an RNN's steps grow with the sequence, and attention's do not", () => {
  const counted = (model: ModelInput) => [4, 8, 16].map((n) => pathLength(modelConfig(model), n));
  expect(counted(models["a decoder"]).map(({ path, sequential }) => [path.counted, sequential.counted])).toEqual([
    [2, 13],
    [2, 13],
    [2, 13],
  ]);
  expect(counted(models["an RNN language model"]).map(({ path, sequential }) => [path.counted, sequential.counted])).toEqual([
    [3, 5],
    [7, 9],
    [15, 17],
  ]);
});
