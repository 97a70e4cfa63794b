import { GraphError } from "../base/errors.ts";
import { type Dim, product } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { defineOp, type Op } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { broadcastShapes, sameShape, showShape, size, type TensorType, tensorType } from "../graph/type.ts";
import { sameDType } from "./arithmetic.ts";
import { real } from "./example.ts";
import { sum, sumTo } from "./sum.ts";

// Everything that multiplies matrices. ONNX Runtime transposes operands and scales results inside the product at no cost.

export interface MatmulOptions {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  /** Multiplies the result, as 1/√size does for attention scores. */
  readonly scale?: number;
}

type Matmul = { readonly transposeA: boolean; readonly transposeB: boolean; readonly scale: number };

/** Rows, contraction and columns of a product. */
function sides([a, b]: readonly TensorType[], { transposeA, transposeB }: Matmul) {
  if (a.shape.length < 2 || b.shape.length < 2) throw new GraphError("matrices have at least two axes");
  const [a0, a1] = a.shape.slice(-2);
  const [b0, b1] = b.shape.slice(-2);
  const [m, k] = transposeA ? [a1, a0] : [a0, a1];
  const [k2, n] = transposeB ? [b1, b0] : [b0, b1];
  if (!k.equals(k2)) throw new GraphError(`contracts ${k} with ${k2}: ${showMatrix(a, transposeA)} @ ${showMatrix(b, transposeB)}`);
  return { m, k, n };
}

const showMatrix = (x: TensorType, transposed: boolean): string => showShape(x.shape) + (transposed ? " transposed" : "");

const matmulOp = defineOp<Matmul>("matmul", {
  type(inputs, attributes) {
    const dtype = sameDType(inputs);
    const { m, n } = sides(inputs, attributes);
    const [a, b] = inputs;
    return tensorType(dtype, [...broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2)), m, n]);
  },
  vjp({ g, inputs: [a, b], attributes: { transposeA, transposeB, scale } }) {
    const da = transposeA
      ? matmul(b, g, { transposeA: transposeB, transposeB: true, scale })
      : matmul(g, b, { transposeB: !transposeB, scale });
    const db = transposeB
      ? matmul(g, a, { transposeA: true, transposeB: transposeA, scale })
      : matmul(a, g, { transposeA: !transposeA, scale });
    return [sumTo(da, a.shape), sumTo(db, b.shape)];
  },
  onnx(e, [a, b], { inputs, outputs: [y], attributes }) {
    const { k } = sides(inputs, attributes);
    const zero = e.scalar(y.dtype, 0);
    if (k.value === 0) return e.node("Expand", [zero, e.dims(y.shape)]);
    const product = lowerProduct(e, a, b, attributes);
    if (k.value !== undefined || y.shape.length === 2) return product;
    // When the contraction is empty (an empty cache), ONNX Runtime leaves all but the first matrix of a batch unwritten, and
    // does not broadcast the batch.
    const [batchA, batchB] = inputs.map(({ shape }) => shape.slice(0, -2));
    const zeros = sameShape(batchA, batchB) ? zero : e.node("Expand", [zero, e.dims(y.shape)]);
    return e.node("Where", [e.node("Greater", [e.dims([k]), e.integers([0])]), product, zeros]);
  },
  cost: (inputs, [y], attributes) => ({ flops: size(y).times(sides(inputs, attributes).k).times(2) }),
  examples: (f) => [
    { inputs: [real(f, "m", "k"), real(f, "k", "n")], attributes: { transposeA: false, transposeB: false, scale: 1 } },
    { inputs: [real(f, "a", "k", "m"), real(f, "a", "n", "k")], attributes: { transposeA: true, transposeB: true, scale: 0.5 } },
    { inputs: [real(f, "a", "m", "k"), real(f, "k", "n")], attributes: { transposeA: false, transposeB: false, scale: 1 } },
    { inputs: [real(f, "m", "k"), real(f, "a", "n", "k")], attributes: { transposeA: false, transposeB: true, scale: 2 }, nonEmpty: ["a"] },
    {
      inputs: [real(f, "a", 1, "m", "k"), real(f, "c", "k", "n")],
      attributes: { transposeA: false, transposeB: false, scale: 0.5 },
      nonEmpty: ["a", "c"], // ONNX Runtime cannot broadcast against an empty batch
    },
  ],
});

function lowerProduct(e: Emitter, a: Value, b: Value, { transposeA, transposeB, scale }: Matmul): Value {
  if (!transposeA && !transposeB && scale === 1) return e.node("MatMul", [a, b]);
  const attributes = { transA: Number(transposeA), transB: Number(transposeB), alpha: { float: scale } };
  return e.node("FusedMatMul", [a, b], attributes, { domain: "com.microsoft" });
}

/** The product of the last two axes; the axes before them are a batch and broadcast. */
export function matmul(a: Tensor, b: Tensor, { transposeA = false, transposeB = false, scale = 1 }: MatmulOptions = {}): Tensor {
  return matmulOp.one([a, b], { transposeA, transposeB, scale });
}

/** A tensor as a matrix: all axes but the last become rows. */
function asRows(e: Emitter, x: Value, type: TensorType): Value {
  return e.reshape(x, type.shape, [rowCount(type), lastDim(type)]);
}

const rowCount = (type: TensorType): Dim => product(type.shape.slice(0, -1));
const lastDim = (type: TensorType): Dim => type.shape[type.shape.length - 1];

const linearOp: Op<{ transposed: boolean; scale: number }> = defineOp("linear", {
  type([x, weight, bias], { transposed }) {
    const dtype = sameDType([x, weight]);
    if (x.shape.length < 1 || weight.shape.length !== 2) throw new GraphError("wants a tensor, a matrix and perhaps a bias vector");
    const [from, to] = transposed ? [weight.shape[1], weight.shape[0]] : weight.shape;
    if (!lastDim(x).equals(from)) {
      throw new GraphError(`contracts ${lastDim(x)} with ${from}: ${showShape(x.shape)} @ ${showMatrix(weight, transposed)}`);
    }
    if (bias && !(bias.shape.length === 1 && bias.shape[0].equals(to))) {
      throw new GraphError(`the bias ${showShape(bias.shape)} does not fit the output size ${to}`);
    }
    return tensorType(dtype, [...x.shape.slice(0, -1), to]);
  },
  vjp: ({ g, inputs: [x, weight, bias], attributes: { transposed, scale } }) => [
    linearOp.one([g, weight], { transposed: !transposed, scale }),
    transposed ? rowsProductOp.one([g, x], { scale }) : rowsProductOp.one([x, g], { scale }),
    ...(bias ? [sumRows(g)] : []),
  ],
  onnx(e, [x, weight, bias], { inputs, outputs: [y], attributes: { transposed, scale } }) {
    const rows = asRows(e, x, inputs[0]);
    const product = e.node("Gemm", bias ? [rows, weight, bias] : [rows, weight], { transB: Number(transposed), alpha: { float: scale } });
    return e.reshape(product, [rowCount(y), lastDim(y)], y.shape);
  },
  cost: ([x, , bias], [y]) => ({
    flops: size(y)
      .times(lastDim(x))
      .times(2)
      .plus(bias ? size(y) : 0),
  }),
  examples: (f) => [
    { inputs: [real(f, "a", "b", "k"), real(f, "k", "n"), real(f, "n")], attributes: { transposed: false, scale: 1 } },
    { inputs: [real(f, "a", "k"), real(f, "n", "k"), real(f, "n")], attributes: { transposed: true, scale: 1 } },
    { inputs: [real(f, "a", "k"), real(f, "k", "n")], attributes: { transposed: false, scale: 0.5 } },
    { inputs: [real(f, "k"), real(f, "k", "n"), real(f, "n")], attributes: { transposed: false, scale: 1 } },
  ],
});

/** x W + b over the last axis. A `transposed` weight is stored [out, in], as a tied output layer's is. */
export function linear(x: Tensor, weight: Tensor, bias?: Tensor, { transposed = false }: { transposed?: boolean } = {}): Tensor {
  return linearOp.one(bias ? [x, weight, bias] : [x, weight], { transposed, scale: 1 });
}

const rowsProductOp: Op<{ scale: number }> = defineOp("rowsProduct", {
  type(inputs) {
    const [x, y] = inputs;
    if (!rowCount(x).equals(rowCount(y))) throw new GraphError(`${showShape(x.shape)} and ${showShape(y.shape)} have different rows`);
    return tensorType(sameDType(inputs), [lastDim(x), lastDim(y)]);
  },
  vjp: ({ g, inputs: [x, y], attributes: { scale } }) => [
    linearOp.one([y, g], { transposed: true, scale }),
    linearOp.one([x, g], { transposed: false, scale }),
  ],
  onnx: (e, [x, y], { inputs, attributes: { scale } }) =>
    e.node("Gemm", [asRows(e, x, inputs[0]), asRows(e, y, inputs[1])], { transA: 1, alpha: { float: scale } }),
  cost: ([x], [y]) => ({ flops: size(y).times(rowCount(x)).times(2) }),
  examples: (f) => [
    { inputs: [real(f, "a", "b", "k"), real(f, "a", "b", "n")], attributes: { scale: 1 } },
    { inputs: [real(f, "a", "k"), real(f, "a", "n")], attributes: { scale: 0.5 } },
  ],
});

/** Σ over all rows of xᵀ y: the gradient of a weight matrix. */
export const rowsProduct = (x: Tensor, y: Tensor): Tensor => rowsProductOp.one([x, y], { scale: 1 });

/** The sum over all axes but the last: the gradient of a bias. */
export const sumRows = (x: Tensor): Tensor => sum(x, { axis: x.shape.slice(0, -1).map((_, i) => i) });
