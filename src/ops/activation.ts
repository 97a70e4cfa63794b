import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { byteSize, size } from "../graph/type.ts";
import { add, mul, sub, wantFloat } from "./arithmetic.ts";
import { apart, real } from "./example.ts";
import { exp, tanh } from "./functions.ts";

// Smooth gates. Each keeps, as a second output, the factor that its gradient needs again.

type NoAttributes = Record<string, never>;

/** z·Φ and Φ = ½(1 + erf z). */
const erfGateOp = defineOp<NoAttributes>("erfGate", {
  type: ([z]) => {
    wantFloat(z);
    return [z, z];
  },
  saved: 1,
  rowwise: { inputs: 1, when: "fed by rows" },
  // Φ + z·exp(−z²)/√π, with the factor inside the exponent: a division and a pass less
  vjp: ({ g, inputs: [z], outputs: [, cdf] }) => [mul(g, add(mul(z, exp(sub(-0.5 * Math.log(Math.PI), mul(z, z)))), cdf))],
  onnx(e, [z]) {
    const cdf = e.node("HardSigmoid", [e.node("Erf", [z])], { alpha: { float: 0.5 }, beta: { float: 0.5 } }); // ½e + ½ in one pass
    return [e.node("Mul", [z, cdf]), cdf];
  },
  cost: ([z]) => ({ flops: size(z).times(4), bytes: byteSize(z).times(7) }), // three passes
  examples: (f) => [{ inputs: [real(f, "a", "b")], attributes: {} }],
  float32Only: "ONNX Runtime has no Erf for float64 on the CPU",
});

/** x·Φ(x), exactly, with the Gaussian Φ(x) = ½(1 + erf(x/√2)). Both factors √½ and √2 end in the products before and after. */
export const gelu = (x: Tensor): Tensor => mul(erfGateOp.apply([mul(x, Math.SQRT1_2)], {})[0], Math.SQRT2);

/** ½x(1 + tanh(√(2/π)(x + 0.044715x³))), the approximation that GPT-2 used: x·σ(2u). */
export function geluTanh(x: Tensor): Tensor {
  const inner = mul(x, add(mul(mul(x, x), 0.044715), 1)); // x + 0.044715 x³
  return mul(mul(x, 0.5), add(tanh(mul(inner, Math.sqrt(2 / Math.PI))), 1));
}

const siluOp = defineOp<NoAttributes>("silu", {
  type: ([x]) => {
    wantFloat(x);
    return [x, x];
  },
  saved: 1,
  rowwise: { inputs: 1, when: "fed by rows" },
  vjp: ({ g, outputs: [y, gate] }) => [mul(g, add(gate, mul(y, sub(1, gate))))],
  onnx(e, [x]) {
    const gate = e.node("Sigmoid", [x]);
    return [e.node("Mul", [x, gate]), gate];
  },
  cost: ([x]) => ({ flops: size(x).times(4), bytes: byteSize(x).times(5) }), // two passes
  examples: (f) => [{ inputs: [real(f, "a", "b")], attributes: {} }],
});

/** x·σ(x), also called swish. */
export const silu = (x: Tensor): Tensor => siluOp.apply([x], {})[0];

const reluSquaredOp = defineOp<NoAttributes>("reluSquared", {
  type: ([x]) => {
    wantFloat(x);
    return [x, x];
  },
  saved: 1,
  rowwise: { inputs: 1, when: "fed by rows" },
  vjp: ({ g, outputs: [, above] }) => [mul(mul(g, 2), above)], // the factor ends in the product that gave g
  onnx(e, [x]) {
    const above = e.node("Relu", [x]);
    return [e.node("Mul", [above, above]), above];
  },
  cost: ([x]) => ({ flops: size(x).times(2), bytes: byteSize(x).times(4) }), // two passes, each reads one tensor
  examples: (f) => [{ inputs: [apart(f, "a", "b")], attributes: {} }],
});

/** max(0, x)² (So et al. 2021). Its derivative is 2·max(0, x). */
export const reluSquared = (x: Tensor): Tensor => reluSquaredOp.apply([x], {})[0];
