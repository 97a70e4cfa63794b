import { describe, expect, it } from "vitest";
import type { ModelCost } from "../../src/cost/cost.ts";
import { productFormulas } from "../../src/cost/formulas.ts";
import { type PhaseName, phaseNames } from "../../src/cost/phases.ts";
import type { Part } from "../../src/graph/place.ts";
import { recurrences } from "../../src/layers/recurrent.ts";
import { cost } from "../../src/library/here.ts";
import { type ModelInput, modelConfig } from "../../src/models/any.ts";

const sizes = { layers: 2, heads: 4, width: 24, hidden: 40, context: 300, vocab: 11 };
const extent = { batch: 3, length: 10, sourceLength: 7, decode: 9 };

/** Products of each part of a phase, as counted in its graph. */
const counted = ({ phases }: ModelCost, phase: PhaseName, parts: Iterable<Part>) =>
  Object.fromEntries([...parts].map((part) => [part, phases[phase]?.parts.find(({ name }) => name === part)?.products]));

/** Which parts have products that no formula of the lecture has: norms, whose means are products, and the choice of the last token. */
const aside = new Set<Part>(["norms", "other"]);

async function expectFormulas(given: ModelInput, at = extent): Promise<ModelCost> {
  const config = modelConfig(given);
  const found = await cost(config, at);
  for (const phase of phaseNames) {
    const graph = found.phases[phase];
    if (!graph) continue;
    const formulas = productFormulas(config, phase, at, graph.queryBlocks);
    expect(counted(found, phase, formulas.keys()), phase).toEqual(Object.fromEntries(formulas));
    const others = graph.parts.filter(({ name, products }) => products > 0 && !formulas.has(name) && !aside.has(name));
    expect(others, phase).toEqual([]);
  }
  return found;
}

type Options = Readonly<Record<string, unknown>>;

const options: readonly Options[] = [
  {},
  { multiHead: "narrow" },
  { multiHead: "wide" },
  { keySize: 5, valueSize: 3 },
  { multiHead: "narrow", keySize: 5, valueSize: 3 },
  { score: "bilinear" },
  { score: "additive" },
  { score: "dot", attention: "linear" },
  { mask: "after-softmax" },
  { positions: "rotary", norm: "rms", activation: "swiglu" },
  { positions: "relative", activation: "relu" },
  { positions: "alibi", normPlace: "post" },
  { positions: "sinusoidal", joinPositions: "concat" },
  { dropout: 0.1 },
  { feedforward: false, residual: false },
  { kvHeads: 2, bias: "none", qkNorm: true, window: 4 },
  { kvHeads: 1, multiHead: "narrow" },
  { kvHeads: 2, keySize: 5, valueSize: 3, score: "bilinear", scoreCap: 3 },
  { positions: "rotary", ropeShare: 0.34, parallel: "shared-norm", scoresBias: true, scoreCap: 3 },
  { norm: "rms", normPlace: "both", activation: "geglu-tanh", embeddingNorm: true, scoresCap: 5 },
  { valueResidual: true, kvHeads: 2, valueSize: 3, activation: "relu2", zeroInit: true },
  { positions: "relative", relativeShared: true, segments: 2, scoresScale: 0.5, bias: "qkv", activation: "silu" },
];
const model = (name: string, more: Options): ModelInput => ({ model: name, ...sizes, ...more }) as unknown as ModelInput;

describe("products in the graph that runs are exactly those of the formula", () => {
  it.each(options.map((more) => [JSON.stringify(more), more] as const))("decoder %s", async (_, more) => {
    await expectFormulas(model("decoder", more));
  });

  it.each(options.map((more) => [JSON.stringify(more), more] as const))("encoder–decoder %s", async (_, more) => {
    await expectFormulas(model("encoder-decoder", more));
  });

  it.each<[string, Options]>([
    ["tagging", { task: "tag", labels: 5 }],
    ["the mean", { labels: 5 }],
    ["a class token", { labels: 5, pool: "class" }],
    ["a pooler", { labels: 5, pool: "first", pooler: "tanh" }],
    ["the last of its tokens", { labels: 5, pool: "last", causal: true }],
    ["vectors", { task: "embed", pool: "class", pooler: "relu", normalise: true }],
    ["hidden tokens", { task: "mlm", scoresBias: true }],
    ["hidden tokens without a layer of their own", { task: "mlm", headTransform: false, tie: false }],
    ["narrow heads and a tag", { task: "tag", labels: 5, multiHead: "narrow" }],
  ])("encoder with %s; it has no tokens to decode", async (_, more) => {
    const found = await expectFormulas(model("encoder", more));
    expect([found.phases.token, found.kvCacheBytes]).toEqual([undefined, 0]);
  });

  it("parameter-free attention", async () => {
    await expectFormulas(model("decoder", { attention: "free" }));
  });

  it("a decoder with output weights of its own, and a source with its own vocabulary", async () => {
    await expectFormulas(model("decoder", { tie: false }));
    await expectFormulas(model("encoder-decoder", { tie: false, sourceVocab: 17 }));
  });

  it("a decoder with sizes of its own beside an encoder", async () => {
    await expectFormulas(model("encoder-decoder", { decoderLayers: 1, decoderHeads: 2, decoderHidden: 10, kvHeads: 2, scoreCap: 4 }));
  });

  it.each<[string, Options]>([
    ["a language model", { task: "lm", cell: "rnn" }],
    ["a language model of two layers", { task: "lm", cell: "lstm", layers: 2 }],
    ["attention", { cell: "gru" }],
    ["two directions and two layers", { cell: "lstm", layers: 2, bidirectional: true }],
    ["no attention", { cell: "gru", layers: 2, bidirectional: true, attention: false }],
    ["dot products", { cell: "rnn", score: "scaled" }],
    ["bilinear scores", { cell: "rnn", score: "bilinear" }],
  ])("RNN with %s", async (_, more) => {
    for (const recurrence of recurrences)
      await expectFormulas({ model: "rnn", width: 12, vocab: 11, context: 20, ...more, recurrence } as ModelInput);
  });

  it("causal attention in two blocks of queries compares three quarters of all pairs", async () => {
    const { phases } = await expectFormulas(model("decoder", {}), { ...extent, length: 256, decode: 256 });
    expect(phases.training?.queryBlocks).toBe(2);
    const scores = phases.training?.parts.find(({ name }) => name === "scores");
    expect(scores?.products).toBe(3 * 2 * 3 * 256 * 256 * 0.75 * 24 * 2);
    expect(phases.sequence?.queryBlocks).toBe(1); // sizes are left open there
  });
});
