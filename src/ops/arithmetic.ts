import { type DType, isFloat } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import { scalar, scalarValue } from "../graph/leaves.ts";
import { type Backward, defineOp, type IsOf, type Op, type OpDefinition, type Simplification } from "../graph/op.ts";
import { atPlace } from "../graph/place.ts";
import type { Tensor } from "../graph/tensor.ts";
import { broadcastShapes, sameShape, size, type TensorType, tensorType } from "../graph/type.ts";
import { positive, real } from "./example.ts";
import { fill, fillValue } from "./fill.ts";
import { sumTo } from "./sum.ts";

// Two tensors (or a tensor and a number), element by element, with broadcasting.

export type Operand = Tensor | number;
type NoAttributes = Record<string, never>;
type Binary = ((a: Operand, b: Operand) => Tensor) & { readonly is: IsOf<NoAttributes> };
type Simplify = (a: Tensor, b: Tensor, simplification: Simplification) => Tensor | undefined;
type Rule = (g: Tensor, a: Tensor, b: Tensor, y: Tensor) => readonly [Tensor, Tensor];

/** Refuses tensors that are not made of floats. */
export function wantFloat(...types: readonly TensorType[]): void {
  for (const { dtype } of types) if (!isFloat(dtype)) throw new GraphError(`wants float32 or float64, not ${dtype}; cast it first`);
}

export function sameDType([a, b]: readonly TensorType[]): TensorType["dtype"] {
  if (a.dtype !== b.dtype) throw new GraphError(`${a.dtype} meets ${b.dtype}; cast one of them`);
  return a.dtype;
}

/** Numbers take the dtype of the tensor they meet. */
export function operands(a: Operand, b: Operand): [Tensor, Tensor] {
  if (typeof a !== "number") return [a, typeof b === "number" ? fitting(b, a.dtype) : b];
  if (typeof b === "number") throw new GraphError(`an op needs at least one tensor, and was given the numbers ${a} and ${b}`);
  return [fitting(a, b.dtype), b];
}

function fitting(value: number, dtype: DType): Tensor {
  if (!isFloat(dtype) && !Number.isInteger(value)) throw new GraphError(`${value} is no ${dtype}; cast the tensor to float32 first`);
  return scalar(value, dtype);
}

function binary(
  name: string,
  opType: string,
  rule: Rule,
  simpler: Simplify,
  second = real,
  scaled?: OpDefinition<NoAttributes>["scaled"],
): Binary {
  const op: Op<NoAttributes> = defineOp<NoAttributes>(name, {
    type: (inputs) => {
      if (inputs[0].dtype === "bool") throw new GraphError("booleans have no arithmetic; cast them to a number first");
      return tensorType(sameDType(inputs), broadcastShapes(inputs[0].shape, inputs[1].shape));
    },
    vjp({ g, inputs: [a, b], outputs: [y] }: Backward<NoAttributes>) {
      const [da, db] = rule(g, a, b, y);
      return [sumTo(da, a.shape), sumTo(db, b.shape)];
    },
    simplify: ([a, b], _, simplification) => simpler(a, b, simplification),
    scaled,
    rowwise: { inputs: 2, when: "fed by rows" },
    onnx: (e, inputs) => e.node(opType, inputs),
    cost: (_, [y]) => ({ flops: size(y) }),
    examples: (f) => [
      { inputs: [real(f, "a", "b"), second(f, "a", "b")], attributes: {} },
      { inputs: [real(f, "a", "b"), second(f, "b")], attributes: {} },
      { inputs: [real(f, "a", 1), second(f, 1, "b")], attributes: {} },
      { inputs: [real(f), second(f, "a", "b")], attributes: {} },
    ],
  });
  return Object.assign((a: Operand, b: Operand) => op.one(operands(a, b), {}), { is: op.is });
}

/** x op neutral = x, and an op of two fills is a fill. A fill that is stretched over the other operand shrinks to one number. */
function simplify(
  neutral: number,
  compute: (a: number, b: number) => number,
  again: (a: Tensor, b: Tensor) => Tensor,
  sided = false,
): Simplify {
  return (a, b, { type }) => {
    if (!isFloat(type.dtype)) return undefined; // integers wrap around and divide without a rest: that is for the engine to do
    const [x, y] = [fillValue(a), fillValue(b)];
    if (x !== undefined && y !== undefined) return fill(type.dtype, type.shape, compute(x, y));
    if (y === neutral && sameShape(a.shape, type.shape)) return a;
    if (x === neutral && !sided && sameShape(b.shape, type.shape)) return b;
    if (y !== undefined && b.rank > 0 && sameShape(a.shape, type.shape)) return again(a, scalar(y, b.dtype));
    if (x !== undefined && a.rank > 0 && sameShape(b.shape, type.shape)) return again(scalar(x, a.dtype), b);
    return undefined;
  };
}

/** a + b; an axis of size 1 stretches to the other's. Gradients g and g, summed where an axis was stretched. */
export const add: Binary = binary(
  "add",
  "Add",
  (g) => [g, g],
  simplify(
    0,
    (a, b) => a + b,
    (a, b) => add(a, b),
  ),
);
/** a − b. Gradients g and −g. */
export const sub: Binary = binary(
  "sub",
  "Sub",
  (g) => [g, neg(g)],
  simplify(
    0,
    (a, b) => a - b,
    (a, b) => sub(a, b),
    true,
  ),
);
/** A number times a product becomes the product's own scale, also through other factors: (x W) · h · c = (c x W) · h. */
function sink(x: Tensor, factor: number, usedOnce: (x: Tensor) => boolean): Tensor | undefined {
  const { node } = x;
  if (!isFloat(x.dtype) || !usedOnce(x)) return undefined;
  return atPlace(node, () => node.op.scaled?.(node.inputs, node.attributes, factor, usedOnce)); // it stays the product of its part
}

const simplifyMul = simplify(
  1,
  (a, b) => a * b,
  (a, b) => mul(a, b),
);

/** a · b, element by element. Gradients g·b and g·a. */
export const mul: Binary = binary(
  "mul",
  "Mul",
  (g, a, b) => [mul(g, b), mul(g, a)],
  (a, b, simplification) => {
    const [x, y] = [scalarValue(a), scalarValue(b)];
    const sunk = y !== undefined ? sink(a, y, simplification.usedOnce) : x !== undefined ? sink(b, x, simplification.usedOnce) : undefined;
    return sunk ?? simplifyMul(a, b, simplification);
  },
  real,
  ([a, b], _, factor, usedOnce) => {
    const [x, y] = [scalarValue(a), scalarValue(b)];
    if (y !== undefined) return mul(a, y * factor);
    if (x !== undefined) return mul(x * factor, b);
    const first = mul.is(a) ? undefined : sink(a, factor, usedOnce); // one step: a long chain would exhaust the stack
    if (first) return mul(first, b);
    const second = mul.is(b) ? undefined : sink(b, factor, usedOnce);
    return second && mul(a, second);
  },
);

/** A tensor that is another one times a number, taken apart. */
export function timesNumber(x: Tensor): { readonly of: Tensor; readonly factor: number } | undefined {
  if (!mul.is(x)) return undefined;
  const [a, b] = x.node.inputs;
  const [left, right] = [scalarValue(a), scalarValue(b)];
  if (left !== undefined) return { of: b, factor: left };
  return right === undefined ? undefined : { of: a, factor: right };
}

/** a / b. Gradients g/b and −g·y/b. */
export const div: Binary = binary(
  "div",
  "Div",
  (g, _, b, y) => [div(g, b), neg(div(mul(g, y), b))],
  simplify(
    1,
    (a, b) => a / b,
    (a, b) => div(a, b),
    true,
  ),
  positive,
);

const negOp = defineOp<NoAttributes>("neg", {
  type: ([x]) => x,
  vjp: ({ g }) => [neg(g)],
  rowwise: { inputs: 1, when: "fed by rows" },
  onnx: (e, [x]) => e.node("Neg", [x]),
  cost: ([x]) => ({ flops: size(x) }),
  examples: (f) => [{ inputs: [real(f, "a", "b")], attributes: {} }],
});

/** −x. */
export const neg = (x: Tensor): Tensor => negOp.one([x], {});
/** x². */
export const square = (x: Tensor): Tensor => mul(x, x);
