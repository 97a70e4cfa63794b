import { GraphError } from "../base/errors.ts";
import { Dim, type DimLike, sum } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { defineOp, type Op } from "../graph/op.ts";
import type { Node, Tensor } from "../graph/tensor.ts";
import { type AxisRef, axisIndex, byteSize, sameShape, showShape, size, type TensorType, tensorType } from "../graph/type.ts";
import { real } from "./example.ts";
import { fill, fillValue, zerosLike } from "./fill.ts";

// Numbers keep their value and change their place. Each op stands beside its transpose: the gradient goes the way back.

const move = { cost: () => ({ flops: 0 }) };
const view = { cost: () => ({ flops: 0, bytes: 0 }) };

/** Moves truths as numbers, there and back, where a target moves nothing else. */
function asNumber(e: Emitter, { dtype }: TensorType, inputs: readonly Value[], move: (inputs: readonly Value[]) => Value): Value {
  if (dtype !== "bool" || e.target.can("truths-moved")) return move(inputs);
  const numbers = inputs.map((x) => e.node("Cast", [x], { to: e.typeNumber("float32") }));
  return e.node("Cast", [move(numbers)], { to: e.typeNumber("bool") });
}

const reshapeOp: Op<{ shape: readonly Dim[] }> = defineOp("reshape", {
  type([x], { shape }) {
    const y = tensorType(x.dtype, shape);
    if (!size(x).equals(size(y))) {
      throw new GraphError(`${showShape(x.shape)} has ${size(x)} elements and ${showShape(shape)} has ${size(y)}`);
    }
    return y;
  },
  vjp: ({ g, inputs: [x] }) => [reshape(g, x.shape)],
  simplify([x], { shape }) {
    const value = fillValue(x);
    if (value !== undefined) return fill(x.dtype, shape, value);
    return isView(x) ? reshape(x.node.inputs[0], shape) : undefined;
  },
  onnx: (e, [value], { inputs: [x], outputs: [y] }) => e.reshape(value, x.shape, y.shape),
  ...view,
  examples: (f) => [
    { inputs: [real(f, "a", "b")], attributes: { shape: [Dim.of("a*b")] } },
    { inputs: [real(f, "a", "b", 6)], attributes: { shape: [Dim.of("a*b"), Dim.of(2), Dim.of(3)] } },
    { inputs: [real(f, "a", 6)], attributes: { shape: [Dim.of(3), Dim.of("a"), Dim.of(2)] } },
  ],
});

/** A tensor whose numbers are its input's, where they are. */
export const isView = reshapeOp.is;

/** The same numbers in another shape. One axis may be -1: what is left. */
export function reshape(x: Tensor, shape: readonly DimLike[]): Tensor {
  const open = shape.indexOf(-1);
  let dims = shape.map((dim) => Dim.of(dim));
  if (open >= 0) {
    const rest = dims.filter((_, i) => i !== open).reduce((a, b) => a.times(b), Dim.of(1));
    dims = dims.with(open, quotient(size(x.type), rest, x, shape));
  }
  return sameShape(x.shape, dims) && !dims.some((d, i) => d.name !== x.shape[i].name) ? x : reshapeOp.one([x], { shape: dims });
}

function quotient(whole: Dim, part: Dim, x: Tensor, shape: readonly DimLike[]): Dim {
  if (part.value !== undefined && part.value > 0) {
    const exact = whole.dividedBy(part.value);
    if (exact) return exact;
  }
  throw new GraphError(`reshape cannot tell what -1 stands for in [${shape.join(", ")}] for ${x}; give every axis`);
}

const transposeOp: Op<{ order: readonly number[] }> = defineOp("transpose", {
  type([x], { order }) {
    if (order.length !== x.shape.length || [...order].sort((a, b) => a - b).some((axis, i) => axis !== i)) {
      throw new GraphError(`the order [${order.join(", ")}] must name each of the ${x.shape.length} axes once`);
    }
    return tensorType(
      x.dtype,
      order.map((axis) => x.shape[axis]),
    );
  },
  vjp({ g, attributes: { order } }) {
    const back = order.map((_, axis) => order.indexOf(axis));
    return [transpose(g, back)];
  },
  simplify([x], { order }) {
    if (order.every((axis, i) => axis === i)) return x;
    if (!transposeOp.is(x)) return undefined;
    const [before] = x.node.inputs;
    const both = order.map((axis) => x.node.attributes.order[axis]);
    return both.every((axis, i) => axis === i) ? before : transpose(before, both);
  },
  onnx: (e, [x], { inputs: [type], attributes: { order } }) =>
    asNumber(e, type, [x], ([one]) => e.node("Transpose", [one], { perm: order })),
  ...move,
  examples: (f) => [
    { inputs: [real(f, "a", "b", "c")], attributes: { order: [2, 0, 1] } },
    { inputs: [real(f, "a", "b")], attributes: { order: [1, 0] } },
  ],
});

/** The axes in another order: `transpose(x, [0, 2, 1, 3])` or `transpose(x, ["head", "time", "size"])`. */
export function transpose(x: Tensor, order: readonly AxisRef[]): Tensor {
  return transposeOp.one([x], { order: order.map((axis) => axisIndex(x.type, axis)) });
}

const splitOp = defineOp<{ axis: number; sizes: readonly Dim[] }>("split", {
  type([x], { axis, sizes }) {
    if (!sum(sizes).equals(x.shape[axis])) {
      throw new GraphError(`parts of ${sizes.join(" + ")} do not make up the axis ${x.shape[axis]} of ${showShape(x.shape)}`);
    }
    return sizes.map((part) => tensorType(x.dtype, x.shape.with(axis, part)));
  },
  vjp({ grads, outputs, attributes: { axis } }) {
    return [
      concat(
        grads.map((g, i) => g ?? zerosLike(outputs[i])),
        axis,
      ),
    ];
  },
  simplify([x], { axis, sizes }, { usedOnce }) {
    if (sizes.length === 1) return x;
    return axis === x.rank - 1 && usedOnce(x) ? x.node.op.parts?.(x.node.inputs, x.node.attributes, sizes) : undefined;
  },
  onnx: (e, [x], { attributes: { axis, sizes } }) => lowerSplit(e, x, axis, sizes),
  ...move,
  examples: (f) => [
    { inputs: [real(f, "a", "b+2")], attributes: { axis: 1, sizes: [Dim.of("b"), Dim.of(2)] } },
    { inputs: [real(f, 6, "a")], attributes: { axis: 0, sizes: [Dim.of(1), Dim.of(2), Dim.of(3)] } },
  ],
});

/** So many parts, and what they are cut from, are buffers that a shader of any GPU may have. */
const fewParts = 7;

/** All parts at once; where a target can cut only few at a time, into larger ones first. */
function lowerSplit(e: Emitter, x: Value, axis: number, sizes: readonly Dim[]): Value[] {
  const cut = (value: Value, into: readonly Dim[]) => e.nodes("Split", [value, e.dims(into)], { axis }, { outputs: into.length });
  if (sizes.length <= fewParts || e.target.can("many-parts")) return cut(x, sizes);
  const each = Math.max(fewParts, Math.ceil(sizes.length / fewParts));
  const groups = Array.from({ length: Math.ceil(sizes.length / each) }, (_, i) => sizes.slice(i * each, (i + 1) * each));
  const cutGroups = cut(x, groups.map(sum));
  return groups.flatMap((group, i) => (group.length === 1 ? [cutGroups[i]] : lowerSplit(e, cutGroups[i], axis, group)));
}

/** Cuts an axis into parts: a number of equal ones, or parts of the given sizes. */
export function split(x: Tensor, axis: AxisRef, parts: number | readonly DimLike[]): Tensor[] {
  const index = axisIndex(x.type, axis);
  if (typeof parts !== "number") return splitOp.apply([x], { axis: index, sizes: parts.map((part) => Dim.of(part)) });
  const part = x.shape[index].dividedBy(parts);
  if (!part) throw new GraphError(`split: the axis ${x.shape[index]} of ${showShape(x.shape)} is not divisible into ${parts} equal parts`);
  return splitOp.apply([x], { axis: index, sizes: Array.from({ length: parts }, () => part) });
}

export const isSplit = splitOp.is;
/** Whether a node only changes the order or the shape of what it is given. */
export const isTurned = (node: Node): boolean => isView(node) || transposeOp.is(node);

const concatOp = defineOp<{ axis: number }>("concat", {
  type(inputs, { axis }) {
    const [first] = inputs;
    for (const x of inputs) {
      const fits = x.shape.length === first.shape.length && x.shape.every((dim, i) => i === axis || dim.equals(first.shape[i]));
      if (!fits) throw new GraphError(`${showShape(first.shape)} and ${showShape(x.shape)} differ in more than axis ${axis}`);
      if (x.dtype !== first.dtype) throw new GraphError(`${first.dtype} and ${x.dtype} do not mix; cast one of them`);
    }
    return tensorType(first.dtype, first.shape.with(axis, sum(inputs.map((x) => x.shape[axis]))));
  },
  vjp: ({ g, inputs, attributes: { axis } }) =>
    split(
      g,
      axis,
      inputs.map((x) => x.shape[axis]),
    ),
  simplify(inputs, { axis }) {
    if (inputs.length === 1) return inputs[0];
    const { node } = inputs[0]; // all parts of a split, in order, are what was split
    const whole = splitOp.is(node) && node.attributes.axis === axis && node.outputs.length === inputs.length;
    return whole && inputs.every((x, i) => x === node.outputs[i]) ? node.inputs[0] : undefined;
  },
  onnx: (e, inputs, { inputs: [type], attributes: { axis } }) => asNumber(e, type, inputs, (all) => e.node("Concat", all, { axis })),
  ...move,
  examples: (f) => [
    { inputs: [real(f, "a", "b"), real(f, "a", 2), real(f, "a", "c")], attributes: { axis: 1 } },
    { inputs: [real(f, "a", "b")], attributes: { axis: 0 } },
  ],
});

/** Tensors one after the other along an axis. */
export function concat(parts: readonly Tensor[], axis: AxisRef): Tensor {
  if (parts.length === 0) throw new GraphError("concat needs at least one tensor");
  return concatOp.one(parts, { axis: axisIndex(parts[0].type, axis) });
}

const sliceOp = defineOp<{ axis: number; start: Dim; end: Dim }>("slice", {
  type([x], { axis, start, end }) {
    const whole = x.shape[axis];
    const outside = (dim: Dim) => dim.value !== undefined && (dim.value < 0 || (whole.value !== undefined && dim.value > whole.value));
    const length = end.minus(start);
    if (outside(start) || outside(end) || (length.value !== undefined && length.value < 0)) {
      throw new GraphError(`${start} to ${end} is not inside the axis ${whole} of ${showShape(x.shape)}`);
    }
    return tensorType(x.dtype, x.shape.with(axis, length.equals(whole) ? whole : length));
  },
  vjp: ({ g, inputs: [x], attributes: { axis, start, end } }) => [pad(g, axis, start, x.shape[axis].minus(end))],
  limits: ([x], { axis, end }) => [{ size: end, atMost: x.shape[axis] }],
  simplify: ([x], { axis, start, end }) => (start.value === 0 && end.equals(x.shape[axis]) ? x : undefined),
  onnx: (e, [x], { inputs: [type], attributes: { axis, start, end } }) =>
    asNumber(e, type, [x], ([one]) => e.node("Slice", [one, e.dims([start]), e.dims([end]), e.integers([axis])])),
  cost: (_, [y]) => ({ flops: 0, bytes: byteSize(y).times(2) }),
  examples: (f) => [
    { inputs: [real(f, "a", "b+3")], attributes: { axis: 1, start: Dim.of(1), end: Dim.of("b+1") } },
    { inputs: [real(f, 5, "a")], attributes: { axis: 0, start: Dim.of(0), end: Dim.of(2) } },
  ],
});

/** Part of an axis, from `start` up to but not including `end`. */
export function slice(x: Tensor, axis: AxisRef, start: DimLike, end: DimLike): Tensor {
  return sliceOp.one([x], { axis: axisIndex(x.type, axis), start: Dim.of(start), end: Dim.of(end) });
}

const padOp = defineOp<{ axis: number; before: Dim; after: Dim }>("pad", {
  type([x], { axis, before, after }) {
    for (const { value } of [before, after])
      if (value !== undefined && value < 0) throw new GraphError(`${value} zeros cannot be added; slice instead`);
    return tensorType(x.dtype, x.shape.with(axis, before.plus(x.shape[axis]).plus(after)));
  },
  vjp: ({ g, inputs: [x], attributes: { axis, before } }) => [slice(g, axis, before, before.plus(x.shape[axis]))],
  simplify: ([x], { before, after }) => (before.value === 0 && after.value === 0 ? x : undefined),
  onnx: (e, [x], { inputs: [{ dtype }], attributes: { axis, before, after } }) =>
    e.node("Pad", [x, e.dims([before, after]), e.scalar(dtype, 0), e.integers([axis])]),
  ...move,
  examples: (f) => [
    { inputs: [real(f, "a", "b")], attributes: { axis: 1, before: Dim.of(2), after: Dim.of(1) } },
    { inputs: [real(f, "a")], attributes: { axis: 0, before: Dim.of(0), after: Dim.of("a") } },
  ],
});

/** Zeros before and after, along an axis. */
export function pad(x: Tensor, axis: AxisRef, before: DimLike, after: DimLike): Tensor {
  return padOp.one([x], { axis: axisIndex(x.type, axis), before: Dim.of(before), after: Dim.of(after) });
}
