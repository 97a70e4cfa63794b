import { type DType, isFloat } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { broadcastShapes, size, type TensorType, tensorType } from "../graph/type.ts";
import { type Operand, operands, sameDType } from "./arithmetic.ts";
import { apart, booleans, real } from "./example.ts";
import { sumTo } from "./sum.ts";

// Questions with the answer yes or no, and what to do with it.

type NoAttributes = Record<string, never>;

function comparison(name: string, opType: string): (a: Operand, b: Operand) => Tensor {
  const op = defineOp<NoAttributes>(name, {
    type: (inputs) => {
      sameDType(inputs);
      return tensorType("bool", broadcastShapes(inputs[0].shape, inputs[1].shape));
    },
    onnx: (e, inputs) => e.node(opType, inputs),
    cost: (_, [y]) => ({ flops: size(y) }),
    examples: (f) => [
      { inputs: [apart(f, "a", "b"), apart(f, "a", "b")], attributes: {} },
      { inputs: [apart(f, "a", 1), apart(f, "b")], attributes: {} },
    ],
  });
  return (a, b) => op.one(operands(a, b), {});
}

/** Whether a = b, element by element, as bool. */
export const equal = comparison("equal", "Equal");
/** Whether a < b, as bool. */
export const less = comparison("less", "Less");
/** Whether a ≤ b, as bool. */
export const lessOrEqual = comparison("lessOrEqual", "LessOrEqual");
/** Whether a > b, as bool. */
export const greater = comparison("greater", "Greater");
/** Whether a ≥ b, as bool. */
export const greaterOrEqual = comparison("greaterOrEqual", "GreaterOrEqual");

function wantBool(...types: readonly TensorType[]): void {
  for (const { dtype } of types) if (dtype !== "bool") throw new GraphError(`wants bool, not ${dtype}; compare first`);
}

function logical(name: string, lower: (e: Emitter, a: Value, b: Value) => Value) {
  return defineOp<NoAttributes>(name, {
    type: (inputs) => {
      wantBool(...inputs);
      return tensorType("bool", broadcastShapes(inputs[0].shape, inputs[1].shape));
    },
    onnx: (e, [a, b]) => lower(e, a, b),
    cost: (_, [y]) => ({ flops: size(y) }),
    examples: () => [{ inputs: [booleans("a", "b"), booleans("b")], attributes: {} }],
  });
}

const andOp = logical("and", (e, a, b) => e.node("And", [a, b]));
const orOp = logical("or", (e, a, b) => {
  if (e.target.can("logical-or")) return e.node("Or", [a, b]);
  const counted = (x: Value) => e.node("Cast", [x], { to: e.typeNumber("int32") });
  return e.node("Greater", [e.node("Add", [counted(a), counted(b)]), e.scalar("int32", 0)]);
});
const notOp = defineOp<NoAttributes>("not", {
  type: ([x]) => {
    wantBool(x);
    return x;
  },
  onnx: (e, [x]) => e.node("Not", [x]),
  cost: ([x]) => ({ flops: size(x) }),
  examples: () => [{ inputs: [booleans("a", "b")], attributes: {} }],
});

/** Whether both hold. */
export const and = (a: Tensor, b: Tensor): Tensor => andOp.one([a, b], {});
/** Whether one of them holds. */
export const or = (a: Tensor, b: Tensor): Tensor => orOp.one([a, b], {});
/** Whether it does not hold. */
export const not = (x: Tensor): Tensor => notOp.one([x], {});

const whereOp = defineOp<NoAttributes>("where", {
  type: ([condition, a, b]) => {
    wantBool(condition);
    return tensorType(sameDType([a, b]), broadcastShapes(condition.shape, broadcastShapes(a.shape, b.shape)));
  },
  vjp({ g, inputs: [condition, a, b] }) {
    return [undefined, sumTo(where(condition, g, 0), a.shape), sumTo(where(condition, 0, g), b.shape)];
  },
  onnx: (e, inputs) => e.node("Where", inputs),
  cost: (_, [y]) => ({ flops: size(y) }),
  examples: (f) => [
    { inputs: [booleans("a", "b"), real(f, "a", "b"), real(f, "a", "b")], attributes: {} },
    { inputs: [booleans("b"), real(f, "a", "b"), real(f)], attributes: {} },
    { inputs: [booleans("a", 1), real(f, "b"), real(f, 1, "b")], attributes: {} },
  ],
});

/** `a` where the condition holds, `b` elsewhere. */
export function where(condition: Tensor, a: Operand, b: Operand): Tensor {
  return whereOp.one([condition, ...operands(a, b)], {});
}

const castOp = defineOp<{ to: DType }>("cast", {
  type: ([x], { to }) => tensorType(to, x.shape),
  vjp: ({ g, inputs: [x] }) => [isFloat(x.dtype) && isFloat(g.dtype) ? cast(g, x.dtype) : undefined],
  onnx: (e, [x], { attributes: { to } }) => e.node("Cast", [x], { to: e.typeNumber(to) }),
  cost: ([x]) => ({ flops: size(x) }),
  examples: (f) => [
    { inputs: [real(f, "a", "b")], attributes: { to: "float64" } },
    { inputs: [booleans("a")], attributes: { to: f } },
  ],
});

/** The same numbers in another dtype; bool becomes 0 and 1. A gradient passes between floats. */
export const cast = (x: Tensor, to: DType): Tensor => (x.dtype === to ? x : castOp.one([x], { to }));
