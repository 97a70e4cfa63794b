import { tensorFunction } from "../graph/graph.ts";
import type { Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { int32 } from "../graph/type.ts";
import { type CrossEntropyOptions, softmaxCrossEntropy } from "../ops/loss.ts";
import type { Mode } from "./transformer.ts";

// What models are trained on: the mean negative log-likelihood of the right answers.

export type LossOptions = Mode & CrossEntropyOptions;

/** What a model that turns one sequence into another reads: the source with its lengths, and the target so far. */
export interface Pair {
  readonly source: Tensor;
  readonly lengths: Tensor;
  readonly target: Tensor;
}

/** Targets are the inputs shifted by one. */
export const nextTokenLoss = (scoresOf: (p: Scope, ids: Tensor) => Tensor, options: CrossEntropyOptions) =>
  tensorFunction({ ids: int32(["batch", "time"]), targets: int32(["batch", "time"]) }, (p, { ids, targets }) => {
    const scores = scoresOf(p, ids);
    return { loss: softmaxCrossEntropy(scores, targets, options), scores };
  });

/** Targets are the target tokens shifted by one, −1 where there is none. */
export const pairLoss = (scoresOf: (p: Scope, pair: Pair) => Tensor, { smoothing }: CrossEntropyOptions) =>
  tensorFunction(
    {
      source: int32(["batch", "sourceTime"]),
      lengths: int32(["batch"]),
      target: int32(["batch", "time"]),
      targets: int32(["batch", "time"]),
    },
    (p, { targets, ...pair }) => {
      const scores = scoresOf(p, pair);
      return { loss: softmaxCrossEntropy(scores, targets, { ignore: -1, smoothing }), scores };
    },
  );
