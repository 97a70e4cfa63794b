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
  /** Whether LayerNorm has a bias beside its scale. */
  readonly bias?: boolean;
  /** What keeps the root from 0; 1e-5 for LayerNorm and 1e-6 for RMSNorm if left out. */
  readonly epsilon?: number;
}

/** (x − μ)/σ · γ + β, or x/rms(x) · γ, or x itself. */
export const norm = layer("norms", (p, x: Tensor, options: NormOptions): Tensor => {
  const { kind, affine = true, bias = true, epsilon } = options;
  if (kind === "none") return x;
  const width = x.shape[x.rank - 1];
  const scale = affine ? p.param("scale", [width], ones) : undefined;
  if (kind === "rms") return rmsNorm(x, scale, { epsilon });
  return layerNorm(x, scale, affine && bias ? p.param("bias", [width], zeros) : undefined, { epsilon });
});
