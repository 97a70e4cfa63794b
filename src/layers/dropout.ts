import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { dropout } from "../ops/dropout.ts";

/** Zeros a share of the elements, by random bytes that the trainer feeds. A rate of 0, as outside training, is nothing at all. */
export const drop = layer((p, x: Tensor, rate: number): Tensor => (rate === 0 ? x : dropout(x, p.noise("dropout", x.shape), rate)));
