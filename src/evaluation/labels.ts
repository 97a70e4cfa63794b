import { NonFiniteError } from "../base/errors.ts";
import { type LabelledIds, type Layout, type SeveralIds, scoringBatches, type TaggedIds } from "../batches/examples.ts";
import { highest } from "../generation/sampling.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { modelLoss } from "../models/any.ts";
import { compile } from "../runtime/compile.ts";
import { baked } from "../trained/baked.ts";
import type { TrainedModel } from "../trained/trained.ts";

const rowsAtOnce = 32;

/**
 * What an encoder thinks of every label, for many examples at once: those of like length go through it together. The scores of every
 * example come in any order: [labels] of a text, or [time, labels] of its tokens.
 */
export async function* labelScores<E extends LabelledIds | SeveralIds | TaggedIds>(
  trained: TrainedModel,
  examples: readonly E[],
  layout: Layout<E>,
): AsyncGenerator<{ readonly place: number; readonly scores: Float32Array }> {
  const { model, device, weights } = trained;
  const options = { outputs: ["scores"], symbols: "open" } as const;
  const rounded = (device.precision ?? "f32") !== "f32";
  const scoring = await trained.hold(rounded ? "rounded scores" : "scores", () =>
    compile(modelLoss(model, { training: false }), { ...options, ...(rounded ? baked(weights, device) : { device }) }),
  );
  try {
    const fed: ParameterBuffer | undefined = rounded ? undefined : weights.buffer;
    for (const { feeds, members } of scoringBatches(examples, layout, { batch: rowsAtOnce, shapes: "any" })) {
      const { scores } = await scoring.value.run(feeds, { weights: fed });
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
