import type { Emitter, Value } from "../graph/emitter.ts";
import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { type AxisRef, axisIndex, size } from "../graph/type.ts";
import { mul, sub, wantFloat } from "./arithmetic.ts";
import { real } from "./example.ts";
import { exp } from "./functions.ts";
import { sum } from "./sum.ts";

type Along = { readonly axis: number };

const softmaxOp = defineOp<Along>("softmax", {
  type: ([x]) => {
    wantFloat(x);
    return x;
  },
  vjp: ({ g, outputs: [y], attributes: { axis } }) => [mul(y, sub(g, sum(mul(g, y), { axis, keep: true })))],
  onnx: (e, [x], { attributes: { axis } }) => e.node("Softmax", [x], { axis }),
  cost: ([x]) => ({ flops: size(x).times(5) }),
  examples: (f) => [
    { inputs: [real(f, "a", "b")], attributes: { axis: 1 } },
    { inputs: [real(f, "a", "b", "c")], attributes: { axis: 1 } },
  ],
});

const logSoftmaxOp = defineOp<Along>("logSoftmax", {
  type: ([x]) => {
    wantFloat(x);
    return x;
  },
  vjp: ({ g, outputs: [y], attributes: { axis } }) => [sub(g, mul(exp(y), sum(g, { axis, keep: true })))],
  onnx: (e, [x], { attributes: { axis } }) => lowerLogSoftmax(e, x, axis),
  cost: ([x]) => ({ flops: size(x).times(5) }),
  examples: (f) => [
    { inputs: [real(f, "a", "b")], attributes: { axis: 1 } },
    { inputs: [real(f, "a", "b", "c")], attributes: { axis: 0 } },
  ],
});

/** One operator, or x − max − log Σ exp(x − max), step by step. */
export function lowerLogSoftmax(e: Emitter, x: Value, axis: number): Value {
  if (e.target.can("log-softmax")) return e.node("LogSoftmax", [x], { axis });
  const shifted = e.node("Sub", [x, e.node("ReduceMax", [x, e.integers([axis])])]);
  return e.node("Sub", [shifted, e.node("Log", [e.node("ReduceSum", [e.node("Exp", [shifted]), e.integers([axis])])])]);
}

/** exp(x) / Σ exp(x) along an axis. */
export const softmax = (x: Tensor, { axis = -1 }: { axis?: AxisRef } = {}): Tensor => softmaxOp.one([x], { axis: axisIndex(x.type, axis) });

/** x − log Σ exp(x) along an axis. */
export const logSoftmax = (x: Tensor, { axis = -1 }: { axis?: AxisRef } = {}): Tensor =>
  logSoftmaxOp.one([x], { axis: axisIndex(x.type, axis) });
