import type { DimLike } from "../graph/dim.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { dropout } from "../ops/dropout.ts";

/** The random bytes by which a share of the elements is dropped; none for a rate of 0, as outside training. */
export const dropNoise = (p: Scope, shape: readonly DimLike[], rate: number): Tensor | undefined =>
  rate === 0 ? undefined : p.noise("dropout", shape);

/** Zeros a share of the elements, by random bytes that the trainer feeds. */
export const drop = layer((p, x: Tensor, rate: number): Tensor => {
  const noise = dropNoise(p, x.shape, rate);
  return noise ? dropout(x, noise, rate) : x;
});
