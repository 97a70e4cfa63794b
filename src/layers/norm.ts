import { ones, zeros } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { layerNorm } from "../ops/normalise.ts";

/** LayerNorm with a scale and a bias of its own. */
export const norm = layer((p, x: Tensor): Tensor => {
  const width = x.shape[x.rank - 1];
  return layerNorm(x, p.param("scale", [width], ones), p.param("bias", [width], zeros));
});
