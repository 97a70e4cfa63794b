import { chance } from "../../src/base/chance.ts";
import type { Batches } from "../../src/batches/batch.ts";
import { answeredLayout, labelledLayout, pairLayout, taggedLayout, trainingBatches } from "../../src/batches/examples.ts";
import { idsInMemory } from "../../src/batches/ids.ts";
import { trainingWindows } from "../../src/batches/windows.ts";
import { type ModelConfig, modelConfig, takesAnyLength } from "../../src/models/any.ts";

// Small models of all four architectures, with dropout, and something for each to learn from.

const sizes = { layers: 1, heads: 2, width: 16, hidden: 24, context: 8, vocab: 11, dropout: 0.2 } as const;
const length = (i: number) => 2 + ((5 * i) % 7);
const ids = (i: number, more = 0) => Int32Array.from({ length: length(i + more) }, (_, k) => (i * 3 + k * k + more) % 11);
const examples = Array.from({ length: 47 }, (_, i) => i);

export interface Case {
  readonly model: ModelConfig;
  batches(batch: number): Batches;
}

const ofWindows = (batch: number) =>
  trainingWindows(idsInMemory(Int32Array.from({ length: 900 }, (_, i) => (i * i + (i >> 3)) % 11)), { batch, context: 8 }, chance(1));
const pairs = examples.map((i) => ({ source: ids(i), target: ids(i, 1), targets: ids(i, 1) }));

export const cases: Readonly<Record<string, Case>> = {
  "a decoder": { model: modelConfig({ model: "decoder", ...sizes }), batches: ofWindows },
  "a decoder on answers of many lengths": {
    model: modelConfig({ model: "decoder", ...sizes, positions: "rotary" }),
    batches: (batch) =>
      trainingBatches(
        examples.map((i) => ({ ids: ids(i), targets: ids(i).map((id, k) => (k % 3 === 0 ? -1 : id)) })),
        answeredLayout,
        { batch, shapes: "any" },
        chance(1),
      ),
  },
  "an encoder that classifies": {
    model: modelConfig({ model: "encoder", ...sizes, task: "classify", labels: 3 }),
    batches: (batch) =>
      trainingBatches(
        examples.map((i) => ({ ids: ids(i), label: i % 3 })),
        labelledLayout,
        { batch, shapes: "any" },
        chance(1),
      ),
  },
  "an encoder that tags": {
    model: modelConfig({ model: "encoder", ...sizes, task: "tag", labels: 3 }),
    batches: (batch) =>
      trainingBatches(
        examples.map((i) => ({ ids: ids(i), tags: ids(i).map((id) => id % 3) })),
        taggedLayout,
        { batch, shapes: "any" },
        chance(1),
      ),
  },
  "an encoder–decoder": {
    model: modelConfig({ model: "encoder-decoder", ...sizes }),
    batches: (batch) => trainingBatches(pairs, pairLayout, { batch, shapes: "any" }, chance(1)),
  },
  "an RNN": {
    model: modelConfig({ model: "rnn", task: "translate", cell: "gru", layers: 1, width: 12, context: 10, vocab: 11, dropout: 0.2 }),
    batches: (batch) => trainingBatches(pairs, pairLayout, { batch, shapes: "few" }, chance(1)),
  },
  "an RNN in a loop": {
    model: modelConfig({
      model: "rnn",
      recurrence: "scanned",
      task: "translate",
      cell: "gru",
      layers: 1,
      width: 12,
      context: 10,
      vocab: 11,
      dropout: 0.2,
    }),
    batches: (batch) => trainingBatches(pairs, pairLayout, { batch, shapes: "any" }, chance(1)),
  },
};

/** One session for all lengths where a model takes any, and else one for each. */
export const symbolsOf = (model: ModelConfig): "open" | "bound" => (takesAnyLength(model) && model.model !== "decoder" ? "open" : "bound");
