import type { Dim } from "../graph/dim.ts";
import type { Tensor } from "../graph/tensor.ts";
import { add } from "./arithmetic.ts";
import { and, less, lessOrEqual, where } from "./compare.ts";
import { extent, fill, iota } from "./fill.ts";
import { reshape } from "./movement.ts";

/**
 * The score of a masked place. Lowest finite rather than −∞, so that a row in which everything is masked gives a uniform
 * pattern and not NaN.
 */
export const lowest = { float32: -3.4028234663852886e38, float64: -1.7976931348623157e308 } as const;

/** Which keys a query may see, [query, key]: those not after it. With more keys than queries, the queries are the last ones. */
export function causalMask(query: Dim, key: Dim): Tensor {
  const keys = reshape(iota(key), [1, key]);
  const queries = reshape(iota(query), [query, 1]);
  const shift = key.minus(query);
  return lessOrEqual(keys, shift.value === 0 ? queries : add(queries, extent(shift, "int64")));
}

/** Which keys lie within a window around a query, [query, key]: fewer than `window` places back, and in an encoder as few ahead. */
export function windowMask(query: Dim, key: Dim, window: number, { causal }: { readonly causal: boolean }): Tensor {
  const keys = reshape(iota(key), [1, key]);
  const shift = key.minus(query);
  const counted = reshape(iota(query), [query, 1]);
  const queries = shift.value === 0 ? counted : add(counted, extent(shift, "int64"));
  const near = less(queries, add(keys, window));
  return causal ? near : and(near, less(keys, add(queries, window)));
}

/** Scores with the masked places (mask false) at the lowest number: after a softmax they are 0. */
export function masked(scores: Tensor, mask: Tensor): Tensor {
  return where(mask, scores, fill(scores.dtype, [], lowest[scores.dtype as "float32"]));
}
