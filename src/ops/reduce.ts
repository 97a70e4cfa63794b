import { product } from "../graph/dim.ts";
import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { type AxisRef, axisIndex, size } from "../graph/type.ts";
import { div, mul } from "./arithmetic.ts";
import { cast, equal } from "./compare.ts";
import { apart, real } from "./example.ts";
import { extent } from "./fill.ts";
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
  onnx: (e, [x], { attributes: { axis } }) => e.node("ArgMax", [x], { axis, keepdims: 0 }),
  cost: ([x]) => ({ flops: size(x) }),
  examples: (f) => [{ inputs: [apart(f, "a", "b")], attributes: { axis: 1 }, nonEmpty: ["b"] }],
});

/** Where the largest number of an axis stands. */
export const argmax = (x: Tensor, { axis = -1 }: { axis?: AxisRef } = {}): Tensor => argmaxOp.one([x], { axis: axisIndex(x.type, axis) });
