import type { DType } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import type { Dim } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { defineOp } from "../graph/op.ts";
import { inPart } from "../graph/place.ts";
import type { NoiseKind } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { byteSize, sameShape, showShape, size, type TensorType } from "../graph/type.ts";
import { mul } from "./arithmetic.ts";
import { bytes, flagged, real } from "./example.ts";

// Two forms that drop the same. Where the noise is bytes, the graph compares them with a threshold and multiplies by a mask of 0 and the scale. Where it is flags, elements are kept by
// one pass that reads a byte for each, and the scale is a number that ends in the products beside it: other roundings, so runs that began with bytes stay with them.

function sameSizes([x, noise]: readonly TensorType[]): TensorType {
  if (noise.dtype !== "uint8") throw new GraphError(`the noise must be random bytes (uint8), not ${noise.dtype}`);
  if (!sameShape(x.shape, noise.shape))
    throw new GraphError(`the noise ${showShape(noise.shape)} does not have the shape ${showShape(x.shape)}`);
  return x;
}

const keepOp = defineOp<Record<string, never>>("keep", {
  type: sameSizes,
  rowwise: { inputs: 2, when: "fed by rows" },
  vjp: ({ g, inputs: [, flags] }) => [keep(g, flags), undefined],
  onnx: (e, [x, flags], { inputs: [{ dtype, shape }] }) => lowerKeep(e, x, flags, dtype, shape.length),
  cost: ([x, flags]) => keepCost(x, flags),
  examples: (f) => [{ inputs: [real(f, "a", "b"), flagged("a", "b")], attributes: {} }],
});

/** What has the flag 1 stays, the rest becomes 0. */
export const keep = (x: Tensor, flags: Tensor): Tensor => inPart("dropout", () => keepOp.one([x, flags], {}));

/**
 * A quantised number times its scale is a byte times a float in one pass, and with blocks of one number each element has a scale of its own: so x is the scale of its flags. With one or two
 * threads that takes half as long as flags that are made a mask of and multiplied by. The numbers are the same.
 */
export function lowerKeep(e: Emitter, x: Value, flags: Value, dtype: DType, rank: number): Value {
  const quantised = dtype === "float32" && e.target.can("byte-comparisons");
  if (quantised && e.target.can("byte-scales") && rank > 1) return e.node("DequantizeLinear", [flags, x], { axis: 0, block_size: 1 });
  const mask = quantised ? e.node("DequantizeLinear", [flags, e.scalar(dtype, 1)]) : e.node("Cast", [flags], { to: e.typeNumber(dtype) });
  return e.node("Mul", [x, mask]);
}

export const keepCost = (x: TensorType, flags: TensorType): { flops: Dim; bytes: Dim } => ({
  flops: size(x),
  bytes: byteSize(x).times(2).plus(byteSize(flags)),
});

const dropoutOp = defineOp<{ threshold: number }>("dropout", {
  type: sameSizes,
  rowwise: { inputs: 2, when: "fed by rows" },
  vjp: ({ g, inputs: [, noise], attributes }) => [dropoutOf(g, noise, attributes.threshold), undefined],
  onnx: (e, [x, noise], { inputs: [{ dtype }], attributes: { threshold } }) => lowerDropout(e, x, noise, dtype, threshold),
  cost: ([x, noise]) => dropoutCost(x, noise),
  examples: (f) => [{ inputs: [real(f, "a", "b"), bytes("a", "b")], attributes: { threshold: 77 } }],
});

const dropMaskOp = defineOp<{ threshold: number; dtype: DType }>("dropMask", {
  type([noise], { dtype }) {
    if (noise.dtype !== "uint8") throw new GraphError(`the noise must be random bytes (uint8), not ${noise.dtype}`);
    return { ...noise, dtype };
  },
  rowwise: { inputs: 1, when: "fed by rows" },
  onnx: (e, [noise], { attributes: { threshold, dtype } }) => lowerMask(e, noise, dtype, threshold),
  cost: ([noise], [mask]) => maskCost(mask, noise),
  examples: (f) => [{ inputs: [bytes("a", "b")], attributes: { threshold: 77, dtype: f } }],
});

/** What dropout multiplies by: 0 where it drops, and elsewhere what keeps the mean. For whoever drops from two tensors by the same noise. */
export const dropMask = (noise: Tensor, threshold: number, dtype: DType): Tensor =>
  inPart("dropout", () => dropMaskOp.one([noise], { threshold, dtype }));

export const lowerDropout = (e: Emitter, x: Value, noise: Value, dtype: DType, threshold: number): Value =>
  e.node("Mul", [x, lowerMask(e, noise, dtype, threshold)]);

/**
 * Bytes become one of two neighbours, threshold − 1 or the threshold, which as quantised numbers with the lower of them for a zero are 0 and the scale: one pass over bytes
 * and one that writes numbers. Elsewhere they are compared, cast and scaled. The numbers are the same.
 */
function lowerMask(e: Emitter, noise: Value, dtype: DType, threshold: number): Value {
  const scale = e.scalar(dtype, keptScale(threshold));
  if (e.target.can("byte-comparisons") && dtype === "float32") {
    const [below, least] = [e.scalar("uint8", threshold - 1), e.scalar("uint8", threshold)];
    return e.node("DequantizeLinear", [e.node("Clip", [noise, below, least]), scale, below]);
  }
  const drawn = e.target.can("byte-comparisons") ? noise : e.node("Cast", [noise], { to: e.typeNumber("int32") });
  const least = e.scalar(drawn === noise ? "uint8" : "int32", threshold);
  const kept = e.node("Cast", [e.node("GreaterOrEqual", [drawn, least])], { to: e.typeNumber(dtype) });
  return e.node("Mul", [kept, scale]);
}

const maskCost = (mask: TensorType, noise: TensorType): { flops: Dim; bytes: Dim } => ({
  flops: size(mask),
  bytes: byteSize(mask).plus(byteSize(noise).times(3)),
});

/** The mask, and a pass that multiplies by it. */
export const dropoutCost = (x: TensorType, noise: TensorType): { flops: Dim; bytes: Dim } => ({
  flops: size(x).times(2),
  bytes: byteSize(x).times(4).plus(byteSize(noise).times(3)),
});

/** Wherever something is dropped, it counts as dropout. */
export const dropoutOf = (x: Tensor, noise: Tensor, threshold: number): Tensor =>
  inPart("dropout", () => dropoutOp.one([x, noise], { threshold }));

/** How a pattern is dropped from, on its way there and back: `of` it, and a scale that is left to the product behind it. */
export interface Dropper {
  readonly by: NoiseKind | "nothing";
  of(x: Tensor): Tensor;
  readonly scale: number;
}

/** Bytes are made a mask once, for all that is dropped by them. */
export function dropper(noise: Tensor | undefined, { threshold, by }: Dropping, dtype: DType): Dropper {
  if (!noise) return { by: "nothing", of: (x) => x, scale: 1 };
  if (by === "flags") return { by, of: (x) => keep(x, noise), scale: keptScale(threshold) };
  const mask = dropMask(noise, threshold, dtype);
  return { by, of: (x) => inPart("dropout", () => mul(x, mask)), scale: 1 };
}

export interface Dropping {
  /** How many of 256 are dropped. */
  readonly threshold: number;
  readonly by: NoiseKind;
}

/** What keeps the mean where so many of 256 are dropped. */
export const keptScale = (threshold: number): number => 256 / (256 - threshold);

/** Of 256 bytes, so many are dropped. */
export function dropThreshold(rate: number): number {
  if (!(rate >= 0 && rate < 1)) throw new GraphError(`dropout: the rate is a share from 0 to below 1, not ${rate}`);
  return Math.min(255, Math.round(rate * 256));
}

/**
 * Zeros a share of the elements and scales the rest so that the mean stays. The randomness is fed: one byte for each element, or one
 * flag, so the share is a multiple of 1/256 (the nearest; the scale matches it exactly).
 */
export function dropout(x: Tensor, noise: Tensor, rate: number, by: NoiseKind = "bytes"): Tensor {
  const threshold = dropThreshold(rate);
  if (threshold === 0) return x;
  if (by === "bytes") return dropoutOf(x, noise, threshold);
  return inPart("dropout", () => keep(mul(x, keptScale(threshold)), noise));
}
