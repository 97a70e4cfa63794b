import type { FloatType } from "../base/arrays.ts";
import type { Tensor } from "../graph/tensor.ts";
import { add, mul, square, sub } from "./arithmetic.ts";
import { real } from "./example.ts";
import { zerosLike } from "./fill.ts";
import { tanh } from "./functions.ts";
import { reshape } from "./movement.ts";
import { matmul } from "./products.ts";
import { defineScan } from "./scan.ts";
import { sum } from "./sum.ts";

/*
 * Additive scores, one query after the other: tanh(q + k) for all queries and keys is the largest tensor of a model that has it, and would be kept for the
 * way back. For one query it fits into a cache, so it is computed twice and never kept.
 */

type NoAttributes = Record<string, never>;

/** Σₛ vₛ tanh(qₛ + kₛ): q [query, batch, 1, size], k [batch, key, size], v [size, 1] → [query, batch, key, 1]. */
const scoresOp = defineScan<NoAttributes>("additiveScores", {
  carried: 0,
  scanned: () => 1,
  backward: () => false,
  step: (_, [q], [k, v]) => ({ carry: [], outputs: [matmul(tanh(add(q, k)), v)] }),
  vjp({ g, inputs: [q, k, v] }) {
    const [dk, dv, dq] = backOp.apply([zerosLike(k), zerosLike(reshape(v, [1, -1])), q, g, k], {});
    const row = reshape(v, [v.shape[0]]);
    // Of Σ g v (1 − t²) the loop leaves Σ g t²: what does not depend on the size is multiplied once, at the end.
    return [mul(sub(sum(g, { axis: 2, keep: true }), dq), row), mul(sub(sum(g, { axis: 0 }), dk), row), reshape(dv, v.shape)];
  },
  examples: (f: FloatType) => [
    { inputs: [real(f, "q", "b", 1, "s"), real(f, "b", "k", "s"), real(f, "s", 1)], attributes: {}, nonEmpty: ["q", "b", "k", "s"] },
  ],
});

/** Carried: Σ over queries of g t² and of g t; scanned: q and g; each step gives Σ over keys of g t². */
const backOp = defineScan<NoAttributes>("additiveScoresBack", {
  carried: 2,
  scanned: () => 2,
  backward: () => false,
  step([dk, dv], [q, g], [k]) {
    const t = tanh(add(q, k)); // [batch, key, size]
    const t2 = square(t);
    const [batch, key, size] = t.shape;
    const rows = batch.times(key);
    return {
      carry: [add(dk, mul(g, t2)), add(dv, matmul(reshape(g, [1, rows]), reshape(t, [rows, size])))],
      outputs: [matmul(reshape(g, [batch, 1, key]), t2)],
    };
  },
  examples: (f: FloatType) => [
    {
      inputs: [real(f, "b", "k", "s"), real(f, 1, "s"), real(f, "q", "b", 1, "s"), real(f, "q", "b", "k", 1), real(f, "b", "k", "s")],
      attributes: {},
      nonEmpty: ["q", "b", "k", "s"],
    },
  ],
});

/** vᵀ tanh(q + k) for every query and key: q [query, batch, size], k [batch, key, size], v of `size` numbers → [query, batch, key]. */
export function additiveScores(q: Tensor, k: Tensor, v: Tensor): Tensor {
  const [query, batch, size] = q.shape;
  const [, key] = k.shape;
  return reshape(scoresOp.apply([reshape(q, [query, batch, 1, size]), k, reshape(v, [size, 1])], {})[0], [query, batch, key]);
}
