import { Dim, type DimLike } from "../graph/dim.ts";
import { type Initialiser, uniform, zeros } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { linear } from "../ops/products.ts";

export interface DenseOptions {
  readonly bias?: boolean;
  readonly weight?: Initialiser;
  /** The rows of each, where the weight is several matrices, one above the other. */
  readonly stacked?: readonly number[];
}

/** Uniform with variance 2/(in + out) (Glorot & Bengio 2010), as the original Transformer starts. */
export const glorot = (from: number, to: number): Initialiser => uniform(Math.sqrt(6 / (from + to)));

/** x Wᵀ + b. W is stored [out, in], as PyTorch does. */
export const dense = layer((p, x: Tensor, out: DimLike, options: DenseOptions = {}): Tensor => {
  const { bias = true, weight, stacked } = options;
  const width = x.shape[x.rank - 1];
  const start = weight ?? glorot(width.knownFor("a weight's start"), Dim.of(out).knownFor("a weight's start"));
  const w = p.param("weight", [out, width], start, stacked);
  return linear(x, w, bias ? p.param("bias", [out], zeros) : undefined, { transposed: true });
});
