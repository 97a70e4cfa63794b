import type { DimLike } from "../graph/dim.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { dropout, dropThreshold } from "../ops/dropout.ts";

/** What a share of the elements is dropped by, bytes or flags that the trainer feeds; nothing for a rate of 0, as outside training. */
export const dropNoise = (p: Scope, shape: readonly DimLike[], rate: number): Tensor | undefined =>
  rate === 0 ? undefined : p.noise("dropout", shape, p.noiseKind === "flags" ? dropThreshold(rate) : undefined);

/** Zeros a share of the elements. */
export const drop = layer((p, x: Tensor, rate: number): Tensor => {
  const noise = dropNoise(p, x.shape, rate);
  return noise ? dropout(x, noise, rate, p.noiseKind) : x;
});
