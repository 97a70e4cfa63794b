import { array } from "../base/arrays.ts";
import { tensorFunction } from "../graph/graph.ts";
import { constant } from "../graph/leaves.ts";
import type { Tensor } from "../graph/tensor.ts";
import { float32 } from "../graph/type.ts";
import { add, div, mul } from "../ops/arithmetic.ts";
import { cast, equal } from "../ops/compare.ts";
import { sqrt } from "../ops/functions.ts";
import { matmul } from "../ops/products.ts";
import { sum } from "../ops/sum.ts";

// The nearest matrix whose singular values are all 1, by products alone: each iteration sends a singular value x to a·x + b·x³ + c·x⁵, and a few of these send
// all that are not far below the largest close to 1 (Newton–Schulz).

/** a, b and c. */
type Quintic = readonly [a: number, b: number, c: number];

/**
 * By the number of iterations: the best quintics one after the other (Polar Express, Amsel et al. 2025), for singular values from the share `from` of the bound up to
 * it, which end within 0.25 of 1. Smaller ones grow by the product of all a.
 */
const firstOf: readonly { readonly from: number; readonly step: Quintic }[] = [
  { from: 0.182008691, step: [4.42505682, -9.39408168, 6.21902486] },
  { from: 0.0448915963, step: [6.8982712, -18.9220789, 13.7158426] },
  { from: 0.01065478, step: [8.06720435, -23.5172593, 17.3641291] },
  { from: 0.00250872037, step: [8.40480175, -24.8493229, 18.4234363] },
  { from: 0.000589620667, step: [8.48832196, -25.1791364, 18.6858096] },
];
/** The last of all come from the same intervals, however many there are. */
const lastOf: readonly Quintic[] = [
  [4.21294353, -3.12960156, 0.582990466],
  [4.07657932, -3.03462634, 0.572159613],
  [3.6039728, -2.69831452, 0.533861617],
  [2.61522781, -1.93921675, 0.448410386],
];

/** The most iterations that there are quintics for. */
export const mostIterations = firstOf.length;

/** The quintics of so many iterations, and the smallest share of the bound that ends near 1. */
export function quintics(iterations: number): { readonly from: number; readonly steps: readonly Quintic[] } {
  const { from, step } = firstOf[iterations - 1];
  return { from, steps: [step, ...lastOf.slice(mostIterations - iterations)] };
}

/** Below this a Gram matrix counts as 0, and the update fades: its singular values would be below 3e-8. */
const smallest = 1e-15;

/** Matrices of more than so many columns for each row, or the other way round, stay out of the iterations: what they are multiplied by is found first. */
const longSide = 1.5;

/** [n, rows, cols] → the same with singular values near 1, `scale` times. */
export function orthogonal(x: Tensor, { iterations, scale = 1 }: { readonly iterations: number; readonly scale?: number }): Tensor {
  const [, rows, cols] = x.shape.map((dim, axis) => (axis === 0 ? 0 : dim.known));
  const wide = rows <= cols;
  const side = Math.min(rows, cols);
  const one = identity(side);
  const gramOf = (y: Tensor) => matmul(y, y, wide ? { transposeB: true } : { transposeA: true }); // [n, side, side]
  const applied = (p: Tensor, y: Tensor, factor = 1) => (wide ? matmul(p, y, { scale: factor }) : matmul(y, p, { scale: factor }));
  const { steps } = quintics(iterations);
  const raw = gramOf(x);
  // The largest singular value is at most √‖XXᵀ‖, which is far nearer to it than ‖X‖ is.
  const share = div(1, add(sqrt(sum(mul(raw, raw), { axis: [1, 2], keep: true })), smallest)); // [n, 1, 1]
  const root = sqrt(share);
  const first = polynomial(mul(raw, share), steps[0], one);
  const last = steps.length - 1;
  if (Math.max(rows, cols) <= longSide * side) {
    let y = x;
    for (const [i, step] of steps.entries()) {
      const p = i === 0 ? mul(first, root) : polynomial(gramOf(y), step, one);
      y = applied(p, y, i === last ? scale : 1);
    }
    return y;
  }
  let gram = mul(raw, share);
  let [p, all] = [first, first];
  for (const step of steps.slice(1)) {
    gram = matmul(matmul(gram, p), p); // all of them commute
    p = polynomial(gram, step, one);
    all = matmul(all, p);
  }
  return applied(mul(all, root), x, scale);
}

/** a + b·G + c·G², as c·(G + b/2c)² + (a − b²/4c): two passes over numbers beside one product. */
function polynomial(gram: Tensor, [a, b, c]: Quintic, one: Tensor): Tensor {
  const shifted = add(gram, mul(one, b / (2 * c)));
  return add(matmul(shifted, shifted, { scale: c }), mul(one, a - (b * b) / (4 * c)));
}

/** Made of numbers from 0 to side, so that a large one is not part of the graph. */
function identity(side: number): Tensor {
  const numbers = Int32Array.from({ length: side }, (_, i) => i);
  const [row, column] = [constant(array("int32", numbers, [1, side])), constant(array("int32", numbers, [side, 1]))];
  return cast(equal(row, column), "float32");
}

/** Matrices of one shape as a function to compile. */
export const orthogonalFunction = (rows: number, cols: number, options: { readonly iterations: number; readonly scale: number }) =>
  tensorFunction({ x: float32(["n", rows, cols]) }, (_, { x }) => ({ y: orthogonal(x, options) }));
