import { ones, zeros } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { layerNorm, rmsNorm } from "../ops/normalise.ts";

export const normKinds = ["layer", "rms", "none"] as const;
export type NormKind = (typeof normKinds)[number];

export interface NormOptions {
  readonly kind: NormKind;
  /** Whether it has a scale (and LayerNorm a bias) of its own. */
  readonly affine?: boolean;
}

/** (x − μ)/σ · γ + β, or x/rms(x) · γ, or x itself. */
export const norm = layer("norms", (p, x: Tensor, options: NormOptions): Tensor => {
  const { kind, affine = true } = options;
  if (kind === "none") return x;
  const width = x.shape[x.rank - 1];
  const scale = affine ? p.param("scale", [width], ones) : undefined;
  if (kind === "rms") return rmsNorm(x, scale);
  return layerNorm(x, scale, affine ? p.param("bias", [width], zeros) : undefined);
});
