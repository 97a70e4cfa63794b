import type { DType } from "../base/arrays.ts";
import { Dim } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { scalarValue } from "../graph/leaves.ts";
import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { tensorType } from "../graph/type.ts";

const fillOp = defineOp<{ dtype: DType; shape: readonly Dim[]; value: number }>("fill", {
  type: (_, { dtype, shape }) => tensorType(dtype, shape),
  onnx: (e, _, { attributes: { dtype, shape, value } }) => e.node("Expand", [e.scalar(dtype, value), e.dims(shape)]),
  cost: () => ({ flops: 0 }),
  examples: (f) => [{ inputs: [], attributes: { dtype: f, shape: [Dim.of(2), Dim.of(3)], value: 0.5 } }],
});

export const isFill = fillOp.is;

/** One number, everywhere in a shape. */
export const fill = (dtype: DType, shape: readonly Dim[], value: number): Tensor => fillOp.one([], { dtype, shape, value });

/** The number that a tensor holds everywhere, where the graph shows that it does. */
export function fillValue(x: Tensor): number | undefined {
  return isFill(x) ? x.node.attributes.value : scalarValue(x);
}

/** Zeros in the shape and dtype of another. */
export const zerosLike = (x: Tensor): Tensor => fill(x.dtype, x.shape, 0);
/** Ones in the shape and dtype of another. */
export const onesLike = (x: Tensor): Tensor => fill(x.dtype, x.shape, 1);

const extentOp = defineOp<{ dtype: DType; size: Dim }>("extent", {
  type: (_, { dtype }) => tensorType(dtype, []),
  onnx: (e, _, { attributes: { dtype, size } }) =>
    size.value === undefined
      ? e.node("Cast", [e.node("Squeeze", [e.dims([size]), e.integers([0])])], { to: e.typeNumber(dtype) })
      : e.node("Identity", [e.scalar(dtype, size.value)]),
  cost: () => ({ flops: 0, bytes: 0 }),
  examples: (f) => [{ inputs: [], attributes: { dtype: f, size: Dim.of(7) } }],
});

/** The size of an axis as a number that the graph can compute with, also when it is left open. */
export const extent = (size: Dim, dtype: DType): Tensor => extentOp.one([], { size, dtype });

/** 0, 1, 2 … up to a size, which may be open. */
export function countUp(e: Emitter, size: Dim): Value {
  const [zero, one] = [e.scalar("int64", 0), e.scalar("int64", 1)];
  if (size.value !== undefined) return e.node("Range", [zero, e.scalar("int64", size.value), one]);
  const end = e.node("Squeeze", [e.dims([size]), e.integers([0])]);
  return e.node("Range", [zero, e.target.can("int64") ? end : e.node("Cast", [end], { to: e.typeNumber("int64") }), one]);
}

/** 0, 1, 2 … along an axis whose size may be open. */
const iotaOp = defineOp<{ size: Dim }>("iota", {
  type: (_, { size }) => tensorType("int64", [size]),
  onnx: (e, _, { attributes: { size } }) => countUp(e, size),
  cost: (_, [y]) => ({ flops: 0, bytes: y.shape[0].times(8) }),
  examples: () => [{ inputs: [], attributes: { size: Dim.of(5) } }],
});

/** 0, 1, 2, … [size], in int64. */
export const iota = (size: Dim): Tensor => iotaOp.one([], { size });
