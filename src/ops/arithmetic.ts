import { GraphError } from "../base/errors.ts";
import { scalar } from "../graph/leaves.ts";
import { type Backward, defineOp, type Op } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { broadcastShapes, size, type TensorType, tensorType } from "../graph/type.ts";
import { positive, real } from "./example.ts";
import { sumTo } from "./sum.ts";

// Two tensors (or a tensor and a number), element by element, with broadcasting.

export type Operand = Tensor | number;
type NoAttributes = Record<string, never>;
type Rule = (g: Tensor, a: Tensor, b: Tensor, y: Tensor) => readonly [Tensor, Tensor];

export function sameDType([a, b]: readonly TensorType[]): TensorType["dtype"] {
  if (a.dtype !== b.dtype) throw new GraphError(`${a.dtype} meets ${b.dtype}; cast one of them`);
  return a.dtype;
}

/** Numbers take the dtype of the tensor they meet. */
export function operands(a: Operand, b: Operand): [Tensor, Tensor] {
  if (typeof a !== "number") return [a, typeof b === "number" ? scalar(b, a.dtype) : b];
  if (typeof b === "number") throw new GraphError(`an op needs at least one tensor, and was given the numbers ${a} and ${b}`);
  return [scalar(a, b.dtype), b];
}

function binary(name: string, opType: string, rule: Rule, second = real): (a: Operand, b: Operand) => Tensor {
  const op: Op<NoAttributes> = defineOp<NoAttributes>(name, {
    type: (inputs) => tensorType(sameDType(inputs), broadcastShapes(inputs[0].shape, inputs[1].shape)),
    vjp({ g, inputs: [a, b], outputs: [y] }: Backward<NoAttributes>) {
      const [da, db] = rule(g, a, b, y);
      return [sumTo(da, a.shape), sumTo(db, b.shape)];
    },
    onnx: (e, inputs) => e.node(opType, inputs),
    cost: (_, [y]) => ({ flops: size(y) }),
    examples: (f) => [
      { inputs: [real(f, "a", "b"), second(f, "a", "b")], attributes: {} },
      { inputs: [real(f, "a", "b"), second(f, "b")], attributes: {} },
      { inputs: [real(f, "a", 1), second(f, 1, "b")], attributes: {} },
      { inputs: [real(f), second(f, "a", "b")], attributes: {} },
    ],
  });
  return (a, b) => op.one(operands(a, b), {});
}

export const add = binary("add", "Add", (g) => [g, g]);
export const sub = binary("sub", "Sub", (g) => [g, neg(g)]);
export const mul = binary("mul", "Mul", (g, a, b) => [mul(g, b), mul(g, a)]);
export const div = binary("div", "Div", (g, _, b, y) => [div(g, b), neg(div(mul(g, y), b))], positive);

const negOp = defineOp<NoAttributes>("neg", {
  type: ([x]) => x,
  vjp: ({ g }) => [neg(g)],
  onnx: (e, [x]) => e.node("Neg", [x]),
  cost: ([x]) => ({ flops: size(x) }),
  examples: (f) => [{ inputs: [real(f, "a", "b")], attributes: {} }],
});

export const neg = (x: Tensor): Tensor => negOp.one([x], {});
export const square = (x: Tensor): Tensor => mul(x, x);
