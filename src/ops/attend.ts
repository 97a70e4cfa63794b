import type { DType } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import { Dim, sum as total } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { type Attributes, defineOp } from "../graph/op.ts";
import { inPart } from "../graph/place.ts";
import type { NoiseKind } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { broadcastShapes, byteSize, sameShape, showShape, size, type TensorType, tensorType } from "../graph/type.ts";
import { mul, sameDType, square, sub, wantFloat } from "./arithmetic.ts";
import { type Dropper, dropoutCost, dropper, dropThreshold, keepCost, keptScale, lowerDropout, lowerKeep } from "./dropout.ts";
import { bytes, flagged, real } from "./example.ts";
import { tanh } from "./functions.ts";
import { lowerProduct, matmul, productCost } from "./products.ts";
import { sum, sumTo } from "./sum.ts";

/** The pattern's shape: a batch of [query, key]. */
function patternShape([q, k, v, bias]: readonly TensorType[]): TensorType["shape"] {
  const rank = q.shape.length;
  if (rank < 2 || k.shape.length !== rank || v.shape.length !== rank)
    throw new GraphError("queries, keys and values have the same axes, at least two");
  const batch = q.shape.slice(0, -2);
  if (!sameShape(batch, k.shape.slice(0, -2)) || !sameShape(batch, v.shape.slice(0, -2))) {
    throw new GraphError(`queries, keys and values differ in their batch: ${[q, k, v].map((x) => showShape(x.shape)).join(", ")}`);
  }
  const [query, depth] = q.shape.slice(-2);
  const [key, keyDepth] = k.shape.slice(-2);
  if (!depth.equals(keyDepth)) throw new GraphError(`queries have size ${depth} and keys ${keyDepth}`);
  if (!key.equals(v.shape[rank - 2])) throw new GraphError(`there are ${key} keys and ${v.shape[rank - 2]} values`);
  const shape = [...batch, query, key];
  if (bias && !sameShape(broadcastShapes(shape, bias.shape), shape)) {
    throw new GraphError(`the bias ${showShape(bias.shape)} does not broadcast to the scores ${showShape(shape)}`);
  }
  return shape;
}

/** `threshold` is that of dropout: where it is above 0, the last input is its noise, a byte or a flag for each weight of the pattern. */
interface AttendAttributes extends Attributes {
  readonly scale: number;
  /** Scores go through cap · tanh(score/cap) before the bias is added. */
  readonly cap?: number;
  readonly threshold: number;
  readonly by: NoiseKind;
}

/** Inputs by their names; the bias and the noise may be left out. */
function named<T>(inputs: readonly T[], { threshold }: AttendAttributes): { q: T; k: T; v: T; bias?: T; noise?: T } {
  const [q, k, v, ...rest] = inputs;
  const noise = threshold > 0 ? rest.pop() : undefined;
  return { q, k, v, bias: rest[0], noise };
}

const lastDim = ({ shape }: TensorType): Dim => shape[shape.length - 1];
const bytesOf = (...types: readonly TensorType[]): Dim => total(types.map(byteSize));

const attendOp = defineOp<AttendAttributes>("attend", {
  type(inputs, attributes) {
    const { q, k, v, bias, noise } = named(inputs, attributes);
    const floats = bias ? [q, k, v, bias] : [q, k, v];
    wantFloat(...floats);
    for (const x of floats) sameDType([q, x]);
    const shape = patternShape(floats);
    if (noise && !(noise.dtype === "uint8" && sameShape(noise.shape, shape)))
      throw new GraphError(
        `the noise is a random byte for each weight of the pattern ${showShape(shape)}, not ${noise.dtype}${showShape(noise.shape)}`,
      );
    return [tensorType(q.dtype, [...shape.slice(0, -1), v.shape[v.shape.length - 1]]), tensorType(q.dtype, shape)];
  },
  saved: 1,
  // dS = P ∘ (dO Vᵀ − rowsum(dO ∘ O)): the row sum of dP ∘ P, taken where it is smaller. What is dropped from P is dropped from dO Vᵀ too.
  vjp({ g, inputs, outputs: [o, pattern], attributes }) {
    const { q, k, v, bias, noise } = named(inputs, attributes);
    const drop = dropper(noise, attributes, q.dtype);
    const along = sum(mul(g, o), { axis: -1, keep: true });
    const { ds, dq, dk, dv } = attendGradients({ ...attributes, q, k, v, drop, g, along, pattern });
    return [dq, dk, dv, ...(bias ? [sumTo(ds, bias.shape)] : []), ...(noise ? [undefined] : [])];
  },
  onnx(e, inputs, { inputs: [{ dtype, shape }], attributes }) {
    const { q, k, v, bias, noise } = named(inputs, attributes);
    const rank = shape.length;
    const { scale, cap } = attributes;
    const within = cap === undefined ? scale : scale / cap;
    const raw = lowerProduct(e, [q, rank], [k, rank], dtype, { transposeA: false, transposeB: true, scale: within });
    const scores = lowerCap(e, raw, dtype, cap);
    const pattern = e.node("Softmax", [bias === undefined ? scores : e.node("Add", [scores, bias])], { axis: -1 });
    if (noise === undefined) return [e.node("MatMul", [pattern, v]), pattern];
    const { threshold, by } = attributes;
    if (by === "bytes") return [e.node("MatMul", [lowerDropout(e, pattern, noise, dtype, threshold), v]), pattern];
    const kept = lowerKeep(e, pattern, noise, dtype, rank);
    const mixed = { transposeA: false, transposeB: false, scale: keptScale(threshold) };
    return [lowerProduct(e, [kept, rank], [v, rank], dtype, mixed), pattern];
  },
  cost: (inputs, [mixed, pattern], attributes) => {
    const { q, k, v, bias, noise } = named(inputs, attributes);
    const softmax = bias // which reads and writes; adding a bias reads and writes once more
      ? { flops: size(pattern).times(6), bytes: byteSize(pattern).times(4).plus(byteSize(bias)) }
      : { flops: size(pattern).times(5), bytes: byteSize(pattern).times(2) };
    const capped = attributes.cap === undefined ? [] : [{ part: "scores", ...capCost(pattern) } as const];
    return [
      { part: "scores", ...productCost(pattern, lastDim(q)), bytes: bytesOf(q, k, pattern) },
      ...capped,
      { part: "softmax", ...softmax },
      ...(noise ? [{ part: "dropout", ...(attributes.by === "flags" ? keepCost : dropoutCost)(pattern, noise) } as const] : []),
      { part: "weighted sum", ...productCost(mixed, lastDim(pattern)), bytes: bytesOf(pattern, v, mixed) },
    ];
  },
  examples: (f) => [
    {
      inputs: [real(f, "a", "q", "d"), real(f, "a", "k", "d"), real(f, "a", "k", "v")],
      attributes: { scale: 0.5, threshold: 0, by: "bytes" },
      nonEmpty: ["k", "d"],
    },
    {
      inputs: [real(f, "a", "b", "q", 2), real(f, "a", "b", "k", 2), real(f, "a", "b", "k", 3), real(f, "q", "k")],
      attributes: { scale: 0.3, threshold: 0, by: "bytes" },
      nonEmpty: ["k"],
    },
    {
      inputs: [real(f, "a", "q", 2), real(f, "a", "k", 2), real(f, "a", "k", 3), real(f, "q", "k"), bytes("a", "q", "k")],
      attributes: { scale: 0.3, threshold: 77, by: "bytes" },
      nonEmpty: ["k"],
    },
    {
      inputs: [real(f, "a", "q", 2), real(f, "a", "k", 2), real(f, "a", "k", 3), real(f, "q", "k"), flagged("a", "q", "k")],
      attributes: { scale: 0.3, threshold: 77, by: "flags" },
      nonEmpty: ["k"],
    },
    {
      inputs: [real(f, "a", "q", 2), real(f, "a", "k", 2), real(f, "a", "k", 3), real(f, "q", "k")],
      attributes: { scale: 0.7, cap: 0.8, threshold: 0, by: "bytes" },
      nonEmpty: ["k"],
    },
  ],
});

export const isAttend = attendOp.is;

/** What an application of it was given. */
export const attendInputs = (inputs: readonly Tensor[], attributes: Attributes) => ({
  ...named(inputs, attributes as AttendAttributes),
  ...(attributes as AttendAttributes),
});

interface Back {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly scale: number;
  readonly cap?: number;
  /** How the pattern was dropped from. */
  readonly drop: Dropper;
  /** The gradient of what came out, and the row sums of it times what came out. */
  readonly g: Tensor;
  readonly along: Tensor;
  readonly pattern: Tensor;
}

/** The gradients of scores, queries, keys and values. */
export function attendGradients({ q, k, v, scale, cap, drop, g, along, pattern }: Back) {
  const dp = inPart("weighted sum", () => matmul(g, v, { transposeB: true, scale: drop.scale }));
  const kept = drop.of(pattern);
  // With flags as P_kept ∘ dP − P ∘ rowsum: what was kept is there for dV anyway, and a byte for each weight is read once in the place of twice.
  const ds = drop.by === "flags" ? sub(mul(kept, dp), mul(pattern, along)) : mul(pattern, sub(drop.of(dp), along));
  const dRaw = cap === undefined ? ds : mul(ds, capSlope(q, k, scale, cap));
  const [dq, dk] = inPart("scores", () => [matmul(dRaw, k, { scale }), matmul(dRaw, q, { transposeA: true, scale })]);
  const dv = inPart("weighted sum", () => matmul(kept, g, { transposeA: true, scale: drop.scale }));
  return { ds, dq, dk, dv };
}

/** 1 − tanh²(score/cap). The scores are computed again: to keep them would take a pattern's memory in every layer. */
function capSlope(q: Tensor, k: Tensor, scale: number, cap: number): Tensor {
  return inPart("scores", () => sub(1, square(tanh(matmul(q, k, { transposeB: true, scale: scale / cap })))));
}

/** cap · tanh(x), where x is the score over the cap. */
const lowerCap = (e: Emitter, x: Value, dtype: DType, cap: number | undefined): Value =>
  cap === undefined ? x : e.node("Mul", [e.node("Tanh", [x]), e.scalar(dtype, cap)]);

const capCost = (pattern: TensorType) => ({ flops: size(pattern).times(2), bytes: byteSize(pattern).times(4) }); // two passes

export interface AttendOptions {
  readonly scale: number;
  /** Where scores end: cap · tanh(score/cap). */
  readonly cap?: number;
  /** Added to the scores (masks, distances); it broadcasts. */
  readonly bias?: Tensor;
  /** Weights of the pattern that are dropped before the values are mixed. */
  readonly dropout?: { readonly noise: Tensor; readonly rate: number; readonly by?: NoiseKind };
}

/**
 * softmax(scale · q kᵀ + bias) v, with capped scores where a cap is given, and the pattern, as it was before anything was dropped. The pattern is there to be looked at: no
 * gradient passes through it. To change it, compose the parts instead.
 */
export function attend(q: Tensor, k: Tensor, v: Tensor, { scale, cap, bias, dropout }: AttendOptions): { mixed: Tensor; pattern: Tensor } {
  const threshold = dropThreshold(dropout?.rate ?? 0);
  const inputs = [q, k, v, ...(bias ? [bias] : []), ...(dropout && threshold > 0 ? [dropout.noise] : [])];
  const [mixed, pattern] = inPart("softmax", () =>
    attendOp.apply(inputs, { scale, ...(cap !== undefined && { cap }), threshold, by: dropout?.by ?? "bytes" }),
  );
  return { mixed, pattern };
}

const attendPastOp = defineOp<{ scale: number; cap?: number }>("attendPast", {
  type(inputs) {
    wantFloat(...inputs);
    for (const x of inputs) sameDType([inputs[0], x]);
    const [q, oldK, oldV, k, v, bias] = inputs;
    const [oldShape, newShape] = [patternShape([q, oldK, oldV]), patternShape([q, k, v])];
    const [seen, own] = [oldShape, newShape].map((shape) => shape[shape.length - 1]);
    const shape = [...newShape.slice(0, -1), seen.plus(own)];
    if (!sameShape(broadcastShapes(shape, bias.shape), shape))
      throw new GraphError(`the bias ${showShape(bias.shape)} does not broadcast to the scores ${showShape(shape)}`);
    return tensorType(q.dtype, [...newShape.slice(0, -1), v.shape[v.shape.length - 1]]);
  },
  onnx(e, [q, oldK, oldV, k, v, bias], { inputs: [{ dtype }, { shape: past }, , { shape: own }], attributes: { scale, cap } }) {
    // One query is the usual case, and ONNX Runtime has a product of its own for one row, but only without a scale.
    const within = cap === undefined ? scale : scale / cap;
    const scaled = within === 1 ? q : e.node("Mul", [q, e.scalar(dtype, within)]);
    const rank = past.length;
    const scoresOf = (keys: Value) =>
      lowerProduct(e, [scaled, rank], [keys, rank], dtype, { transposeA: false, transposeB: true, scale: 1 });
    const scores = lowerCap(e, e.node("Concat", [scoresOf(oldK), scoresOf(k)], { axis: -1 }), dtype, cap);
    const pattern = e.node("Softmax", [e.node("Add", [scores, bias])], { axis: -1 });
    const sizes = e.dims([past[past.length - 2], own[own.length - 2]]);
    const [before, now] = e.nodes("Split", [pattern, sizes], { axis: -1 }, { outputs: 2 });
    return e.node("Add", [e.node("MatMul", [before, oldV]), e.node("MatMul", [now, v])]);
  },
  cost: (inputs, [y], { cap }) => {
    const [q, oldK, oldV, k, v, bias] = inputs;
    const seen = [oldK, k].map(({ shape }) => shape[shape.length - 2]);
    const pattern = tensorType(y.dtype, [...y.shape.slice(0, -1), total(seen)]);
    // Scores are joined, given a bias, turned into a pattern and split. With that counts what two halves, past and new, take more than one
    // whole: the queries are read again, and there are two mixes, which are added.
    const passes = byteSize(pattern).times(8).plus(byteSize(q)).plus(byteSize(y).times(4));
    return [
      { part: "scores", ...productCost(pattern, lastDim(q)), bytes: bytesOf(q, oldK, k, pattern) },
      ...(cap === undefined ? [] : [{ part: "scores", ...capCost(pattern) } as const]),
      { part: "softmax", flops: size(pattern).times(6), bytes: byteSize(bias).plus(passes) },
      { part: "weighted sum", ...productCost(y, lastDim(pattern)), bytes: bytesOf(pattern, oldV, v, y) },
    ];
  },
  examples: (f) => [
    {
      inputs: [
        real(f, "a", "h", "t", "d"),
        real(f, "a", "h", "p", "d"),
        real(f, "a", "h", "p", "e"),
        real(f, "a", "h", "t", "d"),
        real(f, "a", "h", "t", "e"),
        real(f, "a", 1, "t", Dim.of("p").plus("t")),
      ],
      attributes: { scale: 0.5 },
      nonEmpty: ["a", "h", "p", "t", "d"],
    },
    {
      inputs: [
        real(f, "a", "h", "t", "d"),
        real(f, "a", "h", "p", "d"),
        real(f, "a", "h", "p", "e"),
        real(f, "a", "h", "t", "d"),
        real(f, "a", "h", "t", "e"),
        real(f, "a", 1, "t", Dim.of("p").plus("t")),
      ],
      attributes: { scale: 0.5, cap: 0.8 },
      nonEmpty: ["a", "h", "p", "t", "d"],
    },
  ],
});

/**
 * The same over keys and values from before (a cache, [batch, head, past, size]) and new ones, which are never put together in
 * memory: only their scores are, for one softmax. The bias says which of [past…, new…] count. It has no gradient: it is for use, not
 * for training.
 */
export const attendPast = (
  q: Tensor,
  past: { readonly k: Tensor; readonly v: Tensor },
  own: { readonly k: Tensor; readonly v: Tensor },
  { scale, cap, bias }: { scale: number; cap?: number; bias: Tensor },
): Tensor =>
  inPart("softmax", () => attendPastOp.one([q, past.k, past.v, own.k, own.v, bias], { scale, ...(cap !== undefined && { cap }) }));
