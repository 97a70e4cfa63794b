import { NonFiniteError } from "../base/errors.ts";
import { type LabelledIds, type Layout, type SeveralIds, scoringBatches, type TaggedIds } from "../batches/examples.ts";
import { highest } from "../generation/sampling.ts";
import { type ModelConfig, modelLoss, takesAnyLength } from "../models/any.ts";
import { compile } from "../runtime/compile.ts";
import { baked } from "../trained/baked.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { alone, type Group } from "../training/group.ts";
import type { Weights } from "../weights/weights.ts";

/** Which scores are wanted, where they are not those that the model was trained for. */
export interface Scoring {
  /** What it is kept under. */
  readonly key: string;
  /** The model with another head, of whose parameters the trained one has at least all. */
  readonly model: ModelConfig;
  readonly rowsAtOnce: number;
  /** The trained model's name of a parameter, where that has another; the same if left out. */
  readonly named?: (name: string) => string;
}

/** A run cannot be left once it is begun. */
const tokensAtOnce = 16_384;

/**
 * What an encoder thinks of every label, for many examples at once: those of like length go through it together. The scores of every
 * example come in any order: [labels] of a text, or [time, labels] of its tokens. Of many ranks, each gets those of its own batches.
 */
export async function* labelScores<E extends LabelledIds | SeveralIds | TaggedIds>(
  trained: TrainedModel,
  examples: readonly E[],
  layout: Layout<E>,
  signal?: AbortSignal,
  { key, model, rowsAtOnce, named }: Scoring = { key: "scores", model: trained.model, rowsAtOnce: 32 },
  { rank, size }: Pick<Group, "rank" | "size"> = alone,
): AsyncGenerator<{ readonly place: number; readonly scores: Float32Array }> {
  // Baked in, weights are packed for products once: a text by itself takes a fifth of what it takes with weights that are fed.
  const scoring = await trained.hold(key, () =>
    compile(modelLoss(model, { training: false }), {
      outputs: ["scores"],
      symbols: takesAnyLength(model) ? "open" : "bound",
      ...baked(named ? renamed(trained.weights, named) : trained.weights, trained.device),
    }),
  );
  const longest = examples.reduce((most, { ids }) => Math.max(most, ids.length), 1);
  const batch = Math.max(1, Math.min(rowsAtOnce, Math.floor(tokensAtOnce / longest)));
  let count = 0;
  try {
    for (const { feeds, members } of scoringBatches(examples, layout, { batch, shapes: "any" })) {
      if (count++ % size !== rank) continue; // another rank's
      signal?.throwIfAborted();
      const { scores } = await scoring.value.run(feeds);
      const each = scores.data.length / members.length;
      for (const [row, place] of members.entries())
        yield { place, scores: (scores.data as Float32Array).subarray(row * each, (row + 1) * each) };
    }
  } finally {
    await scoring.release();
  }
}

/** Weights under other names. */
const renamed = (weights: Weights, named: (name: string) => string): Weights => ({
  numbers: (name) => weights.numbers(named(name)),
  source: (name) => weights.source(named(name)),
  ...(weights.folder !== undefined && { folder: weights.folder }),
  ...(weights.keep && { keep: weights.keep }),
  get buffer() {
    return weights.buffer;
  },
});

/** The place of the label with the highest score. */
export const likeliest = (scores: Float32Array): number => highest(requireFinite(scores));

export function requireFinite(scores: Float32Array): Float32Array {
  if (scores.every(Number.isFinite)) return scores;
  throw uselessWeights();
}

export const uselessWeights = (): NonFiniteError =>
  new NonFiniteError("the model gives scores that are not numbers, so its weights are of no use; train it again");
