import { Dim, product } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";
import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { type AxisRef, axisIndex, size, type TensorType } from "../graph/type.ts";
import { div, mul } from "./arithmetic.ts";
import { cast, equal } from "./compare.ts";
import { apart, real } from "./example.ts";
import { countUp, extent } from "./fill.ts";
import { expand, type Reduction, reduced, reducer, reduction, restored, sum } from "./sum.ts";

/** The mean over axes, or over everything. */
export const mean = reducer(
  defineOp<Reduction>("mean", {
    ...reduction("ReduceMean", real, false),
    vjp(backward) {
      const { g, inputs, attributes } = backward;
      const [x] = inputs;
      const count = product(attributes.axes.map((axis) => x.shape[axis]));
      const share = count.value === undefined ? div(g, extent(count, g.dtype)) : mul(g, 1 / count.value);
      return [expand(restored(share, backward), x.shape)];
    },
  }),
);

/** The largest over axes, or over everything; where several are, they share the gradient. */
export const max = reducer(
  defineOp<Reduction>("max", {
    ...reduction("ReduceMax", apart, false),
    vjp(backward) {
      const { g, inputs, outputs, attributes } = backward;
      const [x] = inputs;
      const best = cast(equal(x, restored(outputs[0], backward)), x.dtype); // equal maxima share the gradient
      const share = div(restored(g, backward), sum(best, { axis: attributes.axes, keep: true }));
      return [mul(best, share)];
    },
  }),
);

const argmaxOp = defineOp<{ axis: number }>("argmax", {
  type: ([x], { axis }) => ({ dtype: "int64", shape: reduced(x, { axes: [axis], keep: false }).shape }),
  onnx: (e, [x], { inputs: [type], attributes: { axis } }) =>
    e.target.can("int64") ? e.node("ArgMax", [x], { axis, keepdims: 0 }) : firstOfLargest(e, x, type, axis),
  cost: ([x]) => ({ flops: size(x) }),
  examples: (f) => [{ inputs: [apart(f, "a", "b")], attributes: { axis: 1 }, nonEmpty: ["b"] }],
});

/** The same without whole numbers of 64 bits, which ArgMax gives: the least position among those of the largest. */
function firstOfLargest(e: Emitter, x: Value, { dtype, shape }: TensorType, axis: number): Value {
  const [size, along] = [shape[axis], shape.map((dim, i) => (i === axis ? dim : Dim.of(1)))];
  const positions = e.node("Cast", [countUp(e, size)], { to: e.typeNumber(dtype) });
  const placed = e.reshape(positions, [size], along);
  const best = e.node("Equal", [x, e.node("ReduceMax", [x, e.integers([axis])])]);
  const least = e.node("ReduceMin", [e.node("Where", [best, placed, e.scalar(dtype, 2 ** 30)]), e.integers([axis])], { keepdims: 0 });
  return e.node("Cast", [least], { to: e.typeNumber("int64") });
}

/** Where the largest number of an axis stands. */
export const argmax = (x: Tensor, { axis = -1 }: { axis?: AxisRef } = {}): Tensor => argmaxOp.one([x], { axis: axisIndex(x.type, axis) });
