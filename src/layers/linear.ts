import type { DimLike } from "../graph/dim.ts";
import { type Initialiser, normal, zeros } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { linear } from "../ops/products.ts";

/** x W + b, with W [in, out] declared here. */
export const dense = layer((p, x: Tensor, out: DimLike, weight: Initialiser = normal(0.02)): Tensor => {
  const width = x.shape[x.rank - 1];
  return linear(x, p.param("weight", [width, out], weight), p.param("bias", [out], zeros));
});
