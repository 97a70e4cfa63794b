import { NonFiniteError } from "../base/errors.ts";
import { type LabelledIds, type Layout, type SeveralIds, scoringBatches, type TaggedIds } from "../batches/examples.ts";
import { highest } from "../generation/sampling.ts";
import { type ModelConfig, modelLoss, takesAnyLength } from "../models/any.ts";
import { compile } from "../runtime/compile.ts";
import { baked } from "../trained/baked.ts";
import type { TrainedModel } from "../trained/trained.ts";

/** Which scores are wanted, where they are not those that the model was trained for. */
export interface Scoring {
  /** What it is kept under. */
  readonly key: string;
  /** The model with another head, of whose parameters the trained one has at least all. */
  readonly model: ModelConfig;
  readonly rowsAtOnce: number;
}

/**
 * What an encoder thinks of every label, for many examples at once: those of like length go through it together. The scores of every
 * example come in any order: [labels] of a text, or [time, labels] of its tokens.
 */
export async function* labelScores<E extends LabelledIds | SeveralIds | TaggedIds>(
  trained: TrainedModel,
  examples: readonly E[],
  layout: Layout<E>,
  signal?: AbortSignal,
  { key, model, rowsAtOnce }: Scoring = { key: "scores", model: trained.model, rowsAtOnce: 32 },
): AsyncGenerator<{ readonly place: number; readonly scores: Float32Array }> {
  // Baked in, weights are packed for products once: a text by itself takes a fifth of what it takes with weights that are fed.
  const scoring = await trained.hold(key, () =>
    compile(modelLoss(model, { training: false }), {
      outputs: ["scores"],
      symbols: takesAnyLength(model) ? "open" : "bound",
      ...baked(trained.weights, trained.device),
    }),
  );
  try {
    for (const { feeds, members } of scoringBatches(examples, layout, { batch: rowsAtOnce, shapes: "any" })) {
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

/** The place of the label with the highest score. */
export const likeliest = (scores: Float32Array): number => highest(requireFinite(scores));

export function requireFinite(scores: Float32Array): Float32Array {
  if (scores.every(Number.isFinite)) return scores;
  throw uselessWeights();
}

export const uselessWeights = (): NonFiniteError =>
  new NonFiniteError("the model gives scores that are not numbers, so its weights are of no use; train it again");
