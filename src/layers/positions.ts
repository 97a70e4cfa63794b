import { array } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import type { Dim } from "../graph/dim.ts";
import { constant, normal, scalar } from "../graph/leaves.ts";
import { inPart } from "../graph/place.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { add, div, mul, neg, sub } from "../ops/arithmetic.ts";
import { cast, greater, less, where } from "../ops/compare.ts";
import { iota } from "../ops/fill.ts";
import { abs, cos, log, sin } from "../ops/functions.ts";
import { embedding } from "../ops/lookup.ts";
import { concat, reshape, slice, split, transpose } from "../ops/movement.ts";
import { rotary } from "../ops/rotary.ts";
import { expand } from "../ops/sum.ts";
import { dense } from "./linear.ts";

export const positionKinds = ["learned", "sinusoidal", "rotary", "alibi", "relative", "none"] as const;
export type PositionKind = (typeof positionKinds)[number];

/** Additive kinds are added to the tokens, or joined to them and projected back. */
export const positionJoins = ["add", "concat"] as const;
export type PositionJoin = (typeof positionJoins)[number];

export interface PositionOptions {
  readonly kind: PositionKind;
  /** The longest sequence that a learned table knows. */
  readonly context: number;
  readonly join?: PositionJoin;
}

/** How rotary angles are stretched for contexts that are longer than the trained one. */
export const ropeScalings = ["none", "linear", "llama3"] as const;
export type RopeScaling = (typeof ropeScalings)[number];

/** How rotary and relative positions are made; what is left out is as in their papers. */
export interface PositionSettings {
  readonly ropeBase?: number;
  /** Share of each head that is turned, from its front. */
  readonly ropeShare?: number;
  readonly ropeScaling?: RopeScaling;
  readonly ropeFactor?: number;
  readonly ropeLowFactor?: number;
  readonly ropeHighFactor?: number;
  /** The context before it was stretched. */
  readonly ropeOriginal?: number;
  readonly relativeBuckets?: number;
  readonly relativeFarthest?: number;
}

/** What positions do inside self-attention: turn queries and keys, or add a bias to the scores. */
export interface AttentionPositions {
  readonly rotate?: (x: Tensor) => Tensor;
  /** [head, query, key] */
  readonly bias?: Tensor;
}

/** Where tokens stand that go on after others: each row of a batch after as many as it has seen. */
export interface Places {
  /** int32 [batch, time] */
  readonly at: Tensor;
  /** How many places before them there is room for, the same in all rows; keys are [past…, new…]. */
  readonly past: Dim;
  /** Where all keys stand, int32 [batch, past + time]; if left out, those of the past from 0 on. */
  readonly keys?: Tensor;
}

/** Tokens that know their place, for the kinds that are added: x + table[position]. Other kinds act in attention and change nothing here. */
export const positioned = layer("positions", (p, x: Tensor, options: PositionOptions, places?: Places): Tensor => {
  const { kind, context, join = "add" } = options;
  const [, time, width] = x.shape;
  if (kind !== "learned" && kind !== "sinusoidal") return x;
  const learned = kind === "learned" ? p.param("table", [context, width], normal(0.02)) : undefined;
  if (places) return joinedTo(p, x, learned ? embedding(learned, places.at) : sinusoids(floats(places.at, x), width), join);
  return joinedTo(p, x, learned ? learnedTable(learned, time) : sinusoids(counted(time, x), width), join);
});

const joinedTo = layer((p, x: Tensor, table: Tensor, join: PositionJoin): Tensor => {
  if (join === "add") return add(x, table);
  return dense(p.at("join"), concat([x, expand(table, x.shape)], -1), x.shape[2].known);
});

const floats = (x: Tensor, like: Tensor): Tensor => cast(x, like.dtype);

/** 0, 1, 2 … [time] */
const counted = (time: Dim, like: Tensor): Tensor => floats(iota(time), like);

function learnedTable(table: Tensor, time: Dim): Tensor {
  const [context] = table.shape;
  if (time.value !== undefined && time.value > context.known) {
    throw new GraphError(
      `a learned table of ${context} positions has none for a sequence of ${time}; train with a longer context, or use rotary or ALiBi`,
    );
  }
  return slice(table, 0, 0, time); // [time, width]
}

/** sin and cos of position/10000^(2i/width), side by side: even columns are sines, odd ones cosines. [time] → [time, width]. */
export function sinusoids(at: Tensor, width: Dim): Tensor {
  const half = width.dividedBy(2)?.value;
  if (half === undefined) throw new GraphError(`sinusoidal positions come in pairs, so the width must be even, not ${width}`);
  const angles = anglesOf(at, falling(half, 10000)); // [time, width/2]
  const pair = (f: (x: Tensor) => Tensor) => reshape(f(angles), [...at.shape, half, 1]);
  return reshape(concat([pair(sin), pair(cos)], -1), [...at.shape, width]);
}

/** base^(−i/half): angles for each step, from fast to slow. */
const falling = (half: number, base: number): number[] => Array.from({ length: half }, (_, i) => base ** (-i / half));

/** position · frequency, [time] → [time, half]. */
const anglesOf = (at: Tensor, frequencies: readonly number[]): Tensor =>
  mul(reshape(at, [...at.shape, 1]), constant(array(at.dtype, frequencies)));

/** How much each pair is turned for each step. */
export function ropeFrequencies(half: number, settings: PositionSettings): number[] {
  const { ropeBase = 10000, ropeScaling = "none", ropeFactor = 8 } = settings;
  const plain = falling(half, ropeBase);
  switch (ropeScaling) {
    case "none":
      return plain;
    case "linear":
      return plain.map((frequency) => frequency / ropeFactor);
    case "llama3":
      return plain.map((frequency) => stretched(frequency, ropeFactor, settings));
  }
}

/** Fast pairs stay as they are, slow ones are slower by the factor, and those between go smoothly from the one to the other (Llama 3.1). */
function stretched(frequency: number, factor: number, settings: PositionSettings): number {
  const { ropeLowFactor: low = 1, ropeHighFactor: high = 4, ropeOriginal = 8192 } = settings;
  const turns = (ropeOriginal * frequency) / (2 * Math.PI); // over the context before
  if (turns > high) return frequency;
  if (turns < low) return frequency / factor;
  const smooth = (turns - low) / (high - low);
  return ((1 - smooth) * frequency) / factor + smooth * frequency;
}

/** How many numbers at the front of a head are turned. */
export const turnedSize = (size: number, share = 1): number => Math.trunc(size * share);

/** The front of each head turned, the rest as it is. */
function turned(x: Tensor, front: number, cosines: Tensor, sines: Tensor): Tensor {
  const size = x.shape[x.rank - 1].known;
  if (front === size) return rotary(x, cosines, sines);
  const [turning, rest] = split(x, -1, [front, size - front]);
  return concat([rotary(turning, cosines, sines), rest], -1);
}

/** What a kind of positions does in the self-attention of one layer. Distances are signed, and absolute for ALiBi in an encoder. */
export const attentionPositions = layer(
  "positions",
  (p, kind: PositionKind, q: Tensor, order: Order, settings: PositionSettings = {}): AttentionPositions => {
    const { causal, places } = order;
    const [batch, head, time, size] = q.shape;
    if (kind === "rotary") {
      const front = turnedSize(size.known, settings.ropeShare);
      if (front % 2 !== 0 || front === 0)
        throw new GraphError(
          `at ${p.path}: rotary positions turn pairs, so the head size must be even, not ${front}; change heads, width or key size`,
        );
      const frequencies = ropeFrequencies(front / 2, settings);
      const angles = anglesOf(places ? reshape(floats(places.at, q), [batch, 1, time]) : counted(time, q), frequencies);
      return { rotate: (x) => inPart("positions", () => turned(x, front, cos(angles), sin(angles))) };
    }
    if (kind !== "alibi" && kind !== "relative") return {};
    const distance = places ? distancesAfter(places, q) : distances(time, q);
    if (kind === "alibi") return { bias: alibi(distance, head.known) };
    return { bias: relativeBias(order.table ?? relativeTable(p, head.known, settings), distance, causal, settings) };
  },
);

/** In which order tokens are read. A table of relative positions may be that of all layers. */
interface Order {
  readonly causal: boolean;
  readonly places?: Places;
  readonly table?: Tensor;
}

/** A number for each bucket of distances and head. */
export const relativeTable = (p: Scope, heads: number, { relativeBuckets = 32 }: PositionSettings): Tensor =>
  p.param("relative", [relativeBuckets, heads], normal(0.02));

/** key − query, [query, key]. */
function distances(time: Dim, like: Tensor): Tensor {
  const at = counted(time, like);
  return sub(reshape(at, [1, time]), reshape(at, [time, 1]));
}

/** key − query over [past…, new…], which differs from row to row: [batch, query, key]. */
function distancesAfter({ at, past, keys: given }: Places, like: Tensor): Tensor {
  const [batch, time] = at.shape;
  const own = floats(at, like);
  const keys = given ? floats(given, like) : concat([expand(reshape(counted(past, like), [1, past]), [batch, past]), own], 1);
  return sub(reshape(keys, [batch, 1, past.plus(time)]), reshape(own, [batch, time, 1]));
}

/** −slope · |distance| for each head, with slopes 2^(−8/heads), 2^(−16/heads) … (Press et al. 2022), [head, query, key]. */
function alibi(distance: Tensor, heads: number): Tensor {
  const slopes = array(distance.dtype, alibiSlopes(heads), [heads, 1, 1]);
  const [query, key] = distance.shape.slice(-2);
  return mul(reshape(neg(abs(distance)), [...distance.shape.slice(0, -2), 1, query, key]), constant(slopes));
}

/** As the paper does it: a geometric sequence for a power of two, filled up from the next one otherwise. */
export function alibiSlopes(heads: number): number[] {
  const power = 2 ** Math.floor(Math.log2(heads));
  const geometric = (n: number) => Array.from({ length: n }, (_, i) => 2 ** ((-8 * (i + 1)) / n));
  const rest = geometric(2 * power).filter((_, i) => i % 2 === 0);
  return [...geometric(power), ...rest.slice(0, heads - power)];
}

/** A learned number for each head and bucket of distances: near ones each their own, far ones on a logarithmic scale (Raffel et al. 2020). */
function relativeBias(table: Tensor, distance: Tensor, causal: boolean, { relativeFarthest = 128 }: PositionSettings): Tensor {
  const bias = embedding(table, bucketOf(distance, causal, table.shape[0].known, relativeFarthest)); // [query, key, head]
  return transpose(bias, distance.rank === 2 ? [2, 0, 1] : [0, 3, 1, 2]); // [head, query, key]
}

function bucketOf(distance: Tensor, causal: boolean, buckets: number, farthest: number): Tensor {
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
