import { type DType, emptyArray } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import { Dim, product, sum } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { defineOp, type Op } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { broadcastShapes, byteSize, sameShape, showShape, size, type TensorType, tensorType } from "../graph/type.ts";
import { mul, sameDType, timesNumber, wantFloat } from "./arithmetic.ts";
import { real } from "./example.ts";
import { reshape, split } from "./movement.ts";
import { expand, sumTo } from "./sum.ts";

// Everything that multiplies matrices. ONNX Runtime transposes operands and scales results inside the product at no cost, so these are
// options of our products; elsewhere they are steps of their own.

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

const matmulOp: Op<Matmul> = defineOp("matmul", {
  type(inputs, attributes) {
    wantFloat(...inputs);
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
  simplify: ([a, b], attributes) => {
    const found = withoutScale([a, b]);
    return found && matmulOp.one(found.inputs, { ...attributes, scale: attributes.scale * found.factor });
  },
  scaled: (inputs, attributes, factor) => matmulOp.one(inputs, { ...attributes, scale: attributes.scale * factor }),
  onnx(e, [a, b], { inputs, outputs: [y], attributes }) {
    const { k } = sides(inputs, attributes);
    const zero = e.scalar(y.dtype, 0);
    if (k.value === 0) return e.node("Expand", [zero, e.dims(y.shape)]);
    const [rankA, rankB] = inputs.map(({ shape }) => shape.length);
    const product = lowerProduct(e, [a, rankA], [b, rankB], y.dtype, attributes);
    if (k.value !== undefined || y.shape.length === 2) return product;
    // When the contraction is empty (an empty cache), ONNX Runtime leaves all but the first matrix of a batch unwritten, and
    // does not broadcast the batch.
    const [batchA, batchB] = inputs.map(({ shape }) => shape.slice(0, -2));
    const zeros = sameShape(batchA, batchB) ? zero : e.node("Expand", [zero, e.dims(y.shape)]);
    return e.node("Where", [e.node("Greater", [e.dims([k]), e.integers([0])]), product, zeros]);
  },
  cost: (inputs, [y], attributes) => productCost(y, sides(inputs, attributes).k),
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

/** 2mnk: each number of the result is a sum of so many products. */
export function productCost(y: TensorType, contraction: Dim): { flops: Dim; products: Dim } {
  const flops = size(y).times(contraction).times(2);
  return { flops, products: flops };
}

/** Operands without a number that multiplies them, and that number. */
function withoutScale(inputs: readonly Tensor[]): { inputs: Tensor[]; factor: number } | undefined {
  const found = inputs.map(timesNumber);
  if (found.every((one) => one === undefined)) return undefined;
  return { inputs: inputs.map((x, i) => found[i]?.of ?? x), factor: found.reduce((factor, one) => factor * (one?.factor ?? 1), 1) };
}

/** An operand and how many axes it has. */
type Side = readonly [value: Value, rank: number];

export const lowerProduct = (e: Emitter, a: Side, b: Side, dtype: DType, options: Matmul): Value =>
  e.target.can("fused-products") ? fusedProduct(e, a[0], b[0], dtype, options) : plainProduct(e, a, b, dtype, options);

/** One product of ONNX Runtime: transposed and scaled on the way. Its scale is a float32; others are multiplied afterwards. */
function fusedProduct(e: Emitter, a: Value, b: Value, dtype: DType, { transposeA, transposeB, scale }: Matmul): Value {
  const exact = dtype === "float32" || Math.fround(scale) === scale;
  const alpha = exact ? Math.fround(scale) : 1;
  const attributes = { transA: Number(transposeA), transB: Number(transposeB), alpha: { float: alpha } };
  const plain = !transposeA && !transposeB && alpha === 1;
  const product = plain ? e.node("MatMul", [a, b]) : e.node("FusedMatMul", [a, b], attributes, { domain: "com.microsoft" });
  return exact ? product : e.node("Mul", [product, e.scalar(dtype, scale)]);
}

/** The same in ONNX's own operators: transposed before, scaled after. */
function plainProduct(e: Emitter, a: Side, b: Side, dtype: DType, { transposeA, transposeB, scale }: Matmul): Value {
  const turned = ([x, rank]: Side, transposed: boolean) => (transposed ? e.node("Transpose", [x], { perm: swapped(rank) }) : x);
  const product = e.node("MatMul", [turned(a, transposeA), turned(b, transposeB)]);
  return scale === 1 ? product : e.node("Mul", [product, e.scalar(dtype, scale)]);
}

/** Axes with the last two in each other's place. */
const swapped = (rank: number): number[] => [...Array.from({ length: rank - 2 }, (_, axis) => axis), rank - 1, rank - 2];

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
    wantFloat(x, weight, ...(bias ? [bias] : []));
    const dtype = sameDType([x, weight]);
    if (bias) sameDType([x, bias]);
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
  rowwise: { inputs: 1, when: "always" },
  simplify: ([x, weight, ...bias], attributes) => {
    const found = withoutScale([x, weight]);
    return found && linearOp.one([...found.inputs, ...bias], { ...attributes, scale: attributes.scale * found.factor });
  },
  scaled: ([x, weight, ...bias], attributes, factor) =>
    linearOp.one([x, weight, ...bias.map((b) => mul(b, factor))], { ...attributes, scale: attributes.scale * factor }),
  /** Cutting the weight instead of the output saves a pass, when there are more rows than the weight has. */
  parts([x, weight, bias], attributes, sizes) {
    const [rows, from] = [rowCount(x.type).value, lastDim(x.type).value];
    if (rows === undefined || from === undefined || rows <= 2 * from) return undefined;
    const weights = split(weight, attributes.transposed ? 0 : 1, sizes);
    const biases = bias && split(bias, 0, sizes);
    return weights.map((part, i) => linearOp.one(biases ? [x, part, biases[i]] : [x, part], attributes));
  },
  onnx(e, [x, weight, bias], { inputs: [type], outputs: [y], attributes: { transposed, scale } }) {
    const product = { transposeA: false, transposeB: transposed, scale };
    // All axes but the last are rows of one product. A bias inside Gemm is copied by a single thread first, so it is added after.
    const rank1 = type.shape.length === 1;
    const rows = rank1 ? e.reshape(x, type.shape, [Dim.of(1), ...type.shape]) : x;
    const z = lowerProduct(e, [rows, Math.max(2, type.shape.length)], [weight, 2], y.dtype, product);
    const shaped = rank1 ? e.reshape(z, [Dim.of(1), ...y.shape], y.shape) : z;
    return bias === undefined ? shaped : e.node("Add", [shaped, bias]);
  },
  cost([x, weight, bias], [y]) {
    const product = productCost(y, lastDim(x));
    if (!bias) return product;
    const passes = byteSize(y).times(3); // adding the bias is a pass of its own
    return { ...product, flops: product.flops.plus(size(y)), bytes: sum([x, weight, bias].map(byteSize)).plus(passes) };
  },
  examples: (f) => [
    { inputs: [real(f, "a", "b", "k"), real(f, "k", "n"), real(f, "n")], attributes: { transposed: false, scale: 1 } },
    { inputs: [real(f, "a", "k"), real(f, "n", "k"), real(f, "n")], attributes: { transposed: true, scale: 1 } },
    { inputs: [real(f, "a", "k"), real(f, "k", "n")], attributes: { transposed: false, scale: 0.5 } },
    { inputs: [real(f, "k"), real(f, "k", "n"), real(f, "n")], attributes: { transposed: false, scale: 1 } },
  ],
});

export const isLinear = linearOp.is;

/** x W + b over the last axis. A `transposed` weight is stored [out, in], as a tied output layer's is. */
export function linear(x: Tensor, weight: Tensor, bias?: Tensor, { transposed = false }: { transposed?: boolean } = {}): Tensor {
  return linearOp.one(bias ? [x, weight, bias] : [x, weight], { transposed, scale: 1 });
}

/** From so many rows and such a width on, turning the wider side of a product of rows pays too. */
const [manyRows, wideEnough] = [1024, 256];

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
  simplify: (inputs, { scale }) => {
    const found = withoutScale(inputs);
    return found && rowsProductOp.one(found.inputs, { scale: scale * found.factor });
  },
  scaled: (inputs, { scale }, factor) => rowsProductOp.one(inputs, { scale: scale * factor }),
  onnx(e, [x, y], { inputs, outputs: [{ dtype, shape }], attributes: { scale } }) {
    const [rows, others] = [asRows(e, x, inputs[0]), asRows(e, y, inputs[1])];
    // A product that reads its left side transposed is slower than a plain one; a narrow side is cheap to turn first, and so is any side where there are many rows.
    // (To turn the narrow one and what comes out is as fast, but then threads divide the columns of the product, and where they get few, its sums are made in another order.)
    const [left, right] = shape.map(({ value = 0 }) => value);
    const turns = left < right || ((rowCount(inputs[0]).value ?? 0) >= manyRows && right >= wideEnough);
    const first = turns ? e.node("Transpose", [rows], { perm: [1, 0] }) : rows;
    return lowerProduct(e, [first, 2], [others, 2], dtype, { transposeA: !turns, transposeB: false, scale });
  },
  cost: ([x], [y]) => productCost(y, rowCount(x)),
  examples: (f) => [
    { inputs: [real(f, "a", "b", "k"), real(f, "a", "b", "n")], attributes: { scale: 1 } },
    { inputs: [real(f, "a", "k"), real(f, "a", "n")], attributes: { scale: 0.5 } },
  ],
});

/** Σ over all rows of xᵀ y: the gradient of a weight matrix. */
export const rowsProduct = (x: Tensor, y: Tensor): Tensor => rowsProductOp.one([x, y], { scale: 1 });

const sumRowsOp: Op<{ scale: number }> = defineOp("sumRows", {
  type: ([x]) => tensorType(x.dtype, [1, lastDim(x)]),
  vjp: ({ g, inputs: [x], attributes: { scale } }) => [expand(reshape(mul(g, scale), [lastDim(x.type)]), x.shape)],
  simplify: (inputs, { scale }) => {
    const found = withoutScale(inputs);
    return found && sumRowsOp.one(found.inputs, { scale: scale * found.factor });
  },
  onnx(e, [x], { inputs: [type], outputs: [y], attributes: { scale } }) {
    const rows = rowCount(type);
    // As a product with ones it is split over threads and vectorised, unlike ReduceSum over the first axis.
    const ones =
      rows.value === undefined
        ? e.node("Expand", [e.scalar(type.dtype, 1), e.dims([Dim.of(1), rows])])
        : e.constant(type.dtype, [1, rows.value], emptyArray(type.dtype, rows.value).fill(1 as never));
    return lowerProduct(e, [ones, 2], [asRows(e, x, type), 2], y.dtype, { transposeA: false, transposeB: false, scale });
  },
  cost: ([x]) => ({ flops: size(x) }),
  examples: (f) => [
    { inputs: [real(f, "a", "b", "c")], attributes: { scale: 0.5 } },
    { inputs: [real(f, "a", "b")], attributes: { scale: 1 } },
  ],
});

/** The sum over all axes but the last: the gradient of a bias. */
export const sumRows = (x: Tensor): Tensor => (x.rank === 1 ? x : reshape(sumRowsOp.one([x], { scale: 1 }), [lastDim(x.type)]));
