import { tensorFunction } from "../graph/graph.ts";
import { inPart } from "../graph/place.ts";
import type { Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { int32 } from "../graph/type.ts";
import { crossEntropies, sigmoidCrossEntropy } from "../ops/loss.ts";
import type { Mode } from "./mode.ts";

// What models are trained on: the mean negative log-likelihood of the right answers.

/** A loss is for training unless it is said otherwise: `{ training: false }` to measure. */
export interface LossOptions extends Mode {
  /** The target that does not count, −1 unless another is given; null if every position counts. */
  readonly ignore?: number | null;
  /** Where hidden tokens are found: no row has more targets than so many, and only these positions get scores; all do if left out. */
  readonly most?: number;
  readonly smoothing?: number;
  /** How much each class counts, in the order of its score; a mean of 1 over the training data keeps losses comparable. */
  readonly classWeights?: readonly number[];
}

export const modeOf = ({ training = true }: LossOptions): Mode => ({ training });

/** A loss, and the scores it is taken of; where it is smoothed also `plain`, the loss as it would be without. */
export function scored(scores: Tensor, targets: Tensor, options: LossOptions): { loss: Tensor; scores: Tensor } {
  const { ignore = -1, smoothing = 0, classWeights: weights } = options;
  const { loss, plain } = inPart("loss", () => crossEntropies(scores, targets, { ignore: ignore ?? undefined, smoothing, weights }));
  const all = { loss, scores, plain };
  return smoothing > 0 ? all : { loss, scores };
}

/** The same for labels of which each is there or not; targets have the shape of the scores. */
export function separatelyScored(scores: Tensor, targets: Tensor, options: LossOptions): { loss: Tensor; scores: Tensor } {
  const { smoothing = 0, classWeights: weights } = options;
  const lossWith = (share: number) => inPart("loss", () => sigmoidCrossEntropy(scores, targets, { smoothing: share, weights }));
  const loss = lossWith(smoothing);
  const all = { loss, scores, plain: lossWith(0) };
  return smoothing > 0 ? all : { loss, scores };
}

/** What a model that turns one sequence into another reads: the source with its lengths, and the target so far. */
export interface Pair {
  readonly source: Tensor;
  readonly lengths: Tensor;
  readonly target: Tensor;
}

/** Targets are the inputs shifted by one. */
export const nextTokenLoss = (scoresOf: (p: Scope, ids: Tensor) => Tensor, options: LossOptions) =>
  tensorFunction({ ids: int32(["batch", "time"]), targets: int32(["batch", "time"]) }, (p, { ids, targets }) =>
    scored(scoresOf(p, ids), targets, options),
  );

/** Targets are the target tokens shifted by one. */
export const pairLoss = (scoresOf: (p: Scope, pair: Pair) => Tensor, options: LossOptions) =>
  tensorFunction(
    {
      source: int32(["batch", "sourceTime"]),
      lengths: int32(["batch"]),
      target: int32(["batch", "time"]),
      targets: int32(["batch", "time"]),
    },
    (p, { targets, ...pair }) => scored(scoresOf(p, pair), targets, options),
  );
