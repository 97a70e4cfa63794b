import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { size } from "../graph/type.ts";
import { div, mul, neg, sub, wantFloat } from "./arithmetic.ts";
import { cast, greater, less } from "./compare.ts";
import { apart, positive, real } from "./example.ts";

// Functions of one number, element by element. A transcendental function counts as one operation.

type NoAttributes = Record<string, never>;
type Rule = (g: Tensor, x: Tensor, y: Tensor) => Tensor;

function unary(name: string, opType: string, rule: Rule, sample = real, float32Only?: string): (x: Tensor) => Tensor {
  const op = defineOp<NoAttributes>(name, {
    type: ([x]) => {
      wantFloat(x);
      return x;
    },
    vjp: ({ g, inputs: [x], outputs: [y] }) => [rule(g, x, y)],
    rowwise: { inputs: 1, when: "fed by rows" },
    onnx: (e, [x]) => e.node(opType, [x]),
    cost: ([x]) => ({ flops: size(x) }),
    examples: (f) => [{ inputs: [sample(f, "a", "b")], attributes: {} }],
    float32Only,
  });
  return (x) => op.one([x], {});
}

/** e to the power x. Its derivative is itself. */
export const exp = unary("exp", "Exp", (g, _, y) => mul(g, y));
/** The natural logarithm. Its derivative is 1/x. */
export const log = unary("log", "Log", (g, x) => div(g, x), positive);
/** The root. Its derivative is 1/(2√x). */
export const sqrt = unary("sqrt", "Sqrt", (g, _, y) => div(g, mul(y, 2)), positive);
/** The sine. Its derivative is cos x. */
export const sin = unary("sin", "Sin", (g, x) => mul(g, cos(x)));
/** The cosine. Its derivative is −sin x. */
export const cos = unary("cos", "Cos", (g, x) => neg(mul(g, sin(x))));
/** (eˣ − e⁻ˣ)/(eˣ + e⁻ˣ). Its derivative is 1 − y². */
export const tanh = unary("tanh", "Tanh", (g, _, y) => mul(g, sub(1, mul(y, y))));
/** σ(x) = 1/(1 + e⁻ˣ). Its derivative is y(1 − y). */
export const sigmoid = unary("sigmoid", "Sigmoid", (g, _, y) => mul(g, mul(y, sub(1, y))));
/** x above 0, and 0 elsewhere. Its derivative is 1 or 0. */
export const relu = unary("relu", "Relu", (g, _, y) => mul(g, cast(greater(y, 0), g.dtype)), apart);
/** |x|. Its derivative is the sign. */
export const abs = unary("abs", "Abs", (g, x) => mul(g, sub(cast(greater(x, 0), g.dtype), cast(less(x, 0), g.dtype))), apart);
/** The Gauss error function; its derivative is 2/√π · exp(−x²). */
export const erf = unary(
  "erf",
  "Erf",
  (g, x) => mul(g, mul(exp(neg(mul(x, x))), 2 / Math.sqrt(Math.PI))),
  real,
  "ONNX Runtime has no Erf for float64 on the CPU",
);
