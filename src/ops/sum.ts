import { GraphError } from "../base/errors.ts";
import { Dim, type DimLike } from "../graph/dim.ts";
import type { ExampleInput } from "../graph/op.ts";
import { type Backward, defineOp, type OpDefinition } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { type AxisRef, axisIndex, broadcastShapes, sameShape, showShape, size, type TensorType, tensorType } from "../graph/type.ts";
import { real } from "./example.ts";
import { fill, fillValue } from "./fill.ts";
import { reshape } from "./movement.ts";

// Summing an axis away and repeating along it are each other's transpose.

export interface ReduceOptions {
  /** The axes that vanish; all of them if left out. */
  readonly axis?: AxisRef | readonly AxisRef[];
  /** Keep the axes, with size 1. */
  readonly keep?: boolean;
}

export type Reduction = { readonly axes: readonly number[]; readonly keep: boolean };

export function reduced(x: TensorType, { axes, keep }: Reduction): TensorType {
  const shape = x.shape.flatMap((dim, i) => (axes.includes(i) ? (keep ? [Dim.of(1)] : []) : [dim]));
  return tensorType(x.dtype, shape);
}

/** A reduced tensor (or its gradient) with the vanished axes back, so that it broadcasts against the input. */
export function restored(y: Tensor, { inputs: [x], attributes }: Backward<Reduction>): Tensor {
  return reshape(y, reduced(x.type, { ...attributes, keep: true }).shape);
}

/** What all reductions share. `ofNothing` says whether an empty axis has an answer. */
export function reduction(opType: string, sample: typeof real, ofNothing: boolean): Omit<OpDefinition<Reduction>, "vjp"> {
  const example = (input: ExampleInput, axes: number[], keep: boolean, names: string[]) => ({
    inputs: [input],
    attributes: { axes, keep },
    nonEmpty: ofNothing ? [] : names,
  });
  return {
    type: ([x], attributes) => reduced(x, attributes),
    onnx: (e, [x], { attributes: { axes, keep } }) =>
      axes.length === 0 ? e.node("Identity", [x]) : e.node(opType, [x, e.integers(axes)], { keepdims: Number(keep) }),
    cost: ([x]) => ({ flops: size(x) }),
    examples: (f) => [
      example(sample(f, "a", "b", "c"), [1], false, ["b"]),
      example(sample(f, "a", "b"), [0, 1], true, ["a", "b"]),
      example(sample(f, "a", "b"), [0], false, ["a"]),
      example(sample(f), [], false, []),
    ],
  };
}

/** From an op on axis numbers to a function on axis names. */
export function reducer(op: { one(inputs: readonly Tensor[], attributes: Reduction): Tensor }) {
  return (x: Tensor, { axis, keep = false }: ReduceOptions = {}): Tensor => {
    const refs: readonly AxisRef[] = axis === undefined ? x.shape.map((_, i) => i) : typeof axis === "object" ? axis : [axis];
    return op.one([x], { axes: refs.map((ref) => axisIndex(x.type, ref)).sort((a, b) => a - b), keep });
  };
}

/** The sum over axes, or over everything. */
export const sum = reducer(
  defineOp<Reduction>("sum", {
    ...reduction("ReduceSum", real, true),
    vjp: (backward) => [expand(restored(backward.g, backward), backward.inputs[0].shape)],
  }),
);

const expandOp = defineOp<{ shape: readonly Dim[] }>("expand", {
  type([x], { shape }) {
    if (!sameShape(broadcastShapes(x.shape, shape), shape)) {
      throw new GraphError(`${showShape(x.shape)} does not expand to ${showShape(shape)}`);
    }
    return tensorType(x.dtype, shape);
  },
  vjp: ({ g, inputs: [x] }) => [sumTo(g, x.shape)],
  simplify([x], { shape }) {
    const value = fillValue(x);
    return value === undefined ? undefined : fill(x.dtype, shape, value);
  },
  onnx: (e, [x], { outputs: [y] }) => e.node("Expand", [x, e.dims(y.shape)]),
  cost: () => ({ flops: 0 }),
  examples: (f) => [
    { inputs: [real(f, "b")], attributes: { shape: [Dim.of(3), Dim.of("b")] } },
    { inputs: [real(f, "a", 1)], attributes: { shape: [Dim.of("a"), Dim.of(4)] } },
    { inputs: [real(f)], attributes: { shape: [Dim.of(2), Dim.of(2)] } },
  ],
});

/** Repeats axes of size 1, and adds axes on the left, up to a shape. */
export function expand(x: Tensor, shape: readonly DimLike[]): Tensor {
  const dims = shape.map((dim) => Dim.of(dim));
  return sameShape(x.shape, dims) ? x : expandOp.one([x], { shape: dims });
}

/** Sums away what broadcasting added: the gradient of a broadcast. */
export function sumTo(g: Tensor, shape: readonly Dim[]): Tensor {
  if (sameShape(g.shape, shape)) return g;
  const added = g.rank - shape.length;
  const axes = g.shape.flatMap((dim, i) => (i < added || (shape[i - added].value === 1 && dim.value !== 1) ? [i] : []));
  return reshape(axes.length > 0 ? sum(g, { axis: axes, keep: true }) : g, shape);
}
