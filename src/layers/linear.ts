import type { DimLike } from "../graph/dim.ts";
import { type Initialiser, normal, zeros } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { linear } from "../ops/products.ts";

/** x Wᵀ + b. W is stored [out, in], as PyTorch does. */
export const dense = layer((p, x: Tensor, out: DimLike, weight: Initialiser = normal(0.02)): Tensor => {
  const width = x.shape[x.rank - 1];
  return linear(x, p.param("weight", [out, width], weight), p.param("bias", [out], zeros), { transposed: true });
});
