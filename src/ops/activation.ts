import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { size } from "../graph/type.ts";
import { add, div, mul, sub } from "./arithmetic.ts";
import { real } from "./example.ts";
import { exp, tanh } from "./functions.ts";

// Smooth gates. Each keeps, as a second output, the factor that its gradient needs again.

type NoAttributes = Record<string, never>;

/** x·Φ(x) and Φ(x), the Gaussian cumulative distribution ½(1 + erf(x/√2)). */
const geluOp = defineOp<NoAttributes>("gelu", {
  type: ([x]) => [x, x],
  saved: 1,
  vjp({ g, inputs: [x], outputs: [, cdf] }) {
    const density = mul(div(x, exp(mul(mul(x, x), 0.5))), 1 / Math.sqrt(2 * Math.PI)); // x·φ(x)
    return [mul(g, add(cdf, density))];
  },
  onnx(e, [x], { inputs: [{ dtype }] }) {
    const error = e.node("Erf", [e.node("Mul", [x, e.scalar(dtype, Math.SQRT1_2)])]);
    const cdf = e.node("HardSigmoid", [error], { alpha: { float: 0.5 }, beta: { float: 0.5 } }); // one pass for ½e + ½
    return [e.node("Mul", [x, cdf]), cdf];
  },
  cost: ([x]) => ({ flops: size(x).times(5) }),
  examples: (f) => [{ inputs: [real(f, "a", "b")], attributes: {} }],
  float32Only: "ONNX Runtime has no Erf for float64 on the CPU",
});

/** x·Φ(x), exactly. */
export const gelu = (x: Tensor): Tensor => geluOp.apply([x], {})[0];

/** ½x(1 + tanh(√(2/π)(x + 0.044715x³))), the approximation that GPT-2 used: x·σ(2u). */
export function geluTanh(x: Tensor): Tensor {
  const inner = mul(x, add(mul(mul(x, x), 0.044715), 1)); // x + 0.044715 x³
  return mul(mul(x, 0.5), add(tanh(mul(inner, Math.sqrt(2 / Math.PI))), 1));
}

const siluOp = defineOp<NoAttributes>("silu", {
  type: ([x]) => [x, x],
  saved: 1,
  vjp: ({ g, outputs: [y, gate] }) => [mul(g, add(gate, mul(y, sub(1, gate))))],
  onnx(e, [x]) {
    const gate = e.node("Sigmoid", [x]);
    return [e.node("Mul", [x, gate]), gate];
  },
  cost: ([x]) => ({ flops: size(x).times(4) }),
  examples: (f) => [{ inputs: [real(f, "a", "b")], attributes: {} }],
});

/** x·σ(x), also called swish. */
export const silu = (x: Tensor): Tensor => siluOp.apply([x], {})[0];
