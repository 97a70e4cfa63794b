import { array } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import type { Dim } from "../graph/dim.ts";
import { constant, normal, scalar } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { add, div, mul, neg, sub } from "../ops/arithmetic.ts";
import { cast, greater, less, where } from "../ops/compare.ts";
import { iota } from "../ops/fill.ts";
import { abs, cos, log, sin } from "../ops/functions.ts";
import { embedding } from "../ops/lookup.ts";
import { concat, reshape, slice, transpose } from "../ops/movement.ts";
import { rotary } from "../ops/rotary.ts";
import { expand } from "../ops/sum.ts";
import { dense } from "./linear.ts";

export type PositionKind = "learned" | "sinusoidal" | "rotary" | "relative" | "alibi" | "none";

export interface PositionOptions {
  readonly kind: PositionKind;
  /** The longest sequence that a learned table knows. */
  readonly context: number;
  /** Additive kinds are added to the tokens, or joined to them and projected back. */
  readonly join?: "add" | "concat";
}

/** What positions do inside self-attention: turn queries and keys, or add a bias to the scores. */
export interface AttentionPositions {
  readonly rotate?: (x: Tensor) => Tensor;
  /** [head, query, key] */
  readonly bias?: Tensor;
}

/** Tokens that know their place, for the kinds that are added: x + table[position]. Other kinds act in attention and change nothing here. */
export const positioned = layer((p, x: Tensor, { kind, context, join = "add" }: PositionOptions): Tensor => {
  const [, time, width] = x.shape;
  if (kind !== "learned" && kind !== "sinusoidal") return x;
  const table = kind === "learned" ? learnedTable(p.param("table", [context, width], normal(0.02)), time) : sinusoids(time, width, x);
  if (join === "add") return add(x, table);
  return dense(p.at("join"), concat([x, expand(table, x.shape)], -1), width);
});

function learnedTable(table: Tensor, time: Dim): Tensor {
  const [context] = table.shape;
  if (time.value !== undefined && time.value > (context.value as number)) {
    throw new GraphError(
      `a learned table of ${context} positions has none for a sequence of ${time}; train with a longer context, or use rotary or ALiBi`,
    );
  }
  return slice(table, 0, 0, time); // [time, width]
}

/** sin and cos of position/10000^(2i/width), side by side: even columns are sines, odd ones cosines. */
export function sinusoids(time: Dim, width: Dim, like: Tensor): Tensor {
  const half = width.dividedBy(2)?.value;
  if (half === undefined) throw new GraphError(`sinusoidal positions come in pairs, so the width must be even, not ${width}`);
  const angles = anglesOf(time, half, like); // [time, width/2]
  const pair = (f: (x: Tensor) => Tensor) => reshape(f(angles), [time, half, 1]);
  return reshape(concat([pair(sin), pair(cos)], 2), [time, width]);
}

/** position · 10000^(−i/half), [time, half]. */
function anglesOf(time: Dim, half: number, like: Tensor): Tensor {
  const frequencies = array(
    like.dtype,
    Array.from({ length: half }, (_, i) => 10000 ** (-i / half)),
  );
  return mul(reshape(cast(iota(time), like.dtype), [time, 1]), constant(frequencies));
}

/** What a kind of positions does in the self-attention of one layer. Distances are signed, and absolute for ALiBi in an encoder. */
export const attentionPositions = layer((p, kind: PositionKind, q: Tensor, { causal }: { causal: boolean }): AttentionPositions => {
  const [, head, time, size] = q.shape;
  if (kind === "rotary") {
    const half = size.dividedBy(2)?.value;
    if (half === undefined)
      throw new GraphError(
        `at ${p.path}: rotary positions turn pairs, so the head size must be even, not ${size}; change heads, width or key size`,
      );
    const angles = anglesOf(time, half, q);
    return { rotate: (x) => rotary(x, cos(angles), sin(angles)) };
  }
  if (kind === "alibi") return { bias: alibi(distances(time, q), head.value as number) };
  if (kind === "relative") return { bias: relativeBias(p.param("relative", [buckets, head], normal(0.02)), distances(time, q), causal) };
  return {};
});

/** key − query, [query, key]. */
function distances(time: Dim, like: Tensor): Tensor {
  const at = cast(iota(time), like.dtype);
  return sub(reshape(at, [1, time]), reshape(at, [time, 1]));
}

/** −slope · |distance| for each head, with slopes 2^(−8/heads), 2^(−16/heads) … (Press et al. 2022), [head, query, key]. */
function alibi(distance: Tensor, heads: number): Tensor {
  const slopes = array(distance.dtype, alibiSlopes(heads), [heads, 1, 1]);
  return mul(neg(abs(distance)), constant(slopes));
}

/** As the paper does it: a geometric sequence for a power of two, filled up from the next one otherwise. */
export function alibiSlopes(heads: number): number[] {
  const power = 2 ** Math.floor(Math.log2(heads));
  const geometric = (n: number) => Array.from({ length: n }, (_, i) => 2 ** ((-8 * (i + 1)) / n));
  const rest = geometric(2 * power).filter((_, i) => i % 2 === 0);
  return [...geometric(power), ...rest.slice(0, heads - power)];
}

const buckets = 32;
const farthest = 128;

/** A learned number for each head and bucket of distances: near ones each their own, far ones on a logarithmic scale (Raffel et al. 2020). */
function relativeBias(table: Tensor, distance: Tensor, causal: boolean): Tensor {
  return transpose(embedding(table, bucketOf(distance, causal)), [2, 0, 1]); // [head, query, key]
}

function bucketOf(distance: Tensor, causal: boolean): Tensor {
  const sides = causal ? 1 : 2; // an encoder tells before from after
  const each = buckets / sides;
  const exact = each / 2;
  const back = causal ? where(less(distance, 0), neg(distance), 0) : abs(distance);
  const far = where(greater(back, exact), div(back, exact), 1); // log of at least 1
  const scaled = mul(log(far), (each - exact) / Math.log(farthest / exact));
  const logarithmic = add(cast(cast(scaled, "int32"), distance.dtype), exact);
  const capped = where(greater(logarithmic, each - 1), each - 1, logarithmic);
  const bucket = where(less(back, exact), back, capped);
  return cast(causal ? bucket : add(bucket, where(greater(distance, 0), scalar(each, distance.dtype), 0)), "int32");
}
