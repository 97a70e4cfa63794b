import { GraphError } from "../base/errors.ts";
import type { Dim } from "../graph/dim.ts";
import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { broadcastShapes, byteSize, sameShape, showShape, size } from "../graph/type.ts";
import { add, mul, neg, sameDType, sub, wantFloat } from "./arithmetic.ts";
import { real } from "./example.ts";
import { split } from "./movement.ts";
import { sumTo } from "./sum.ts";

const rotaryOp = defineOp<Record<string, never>>("rotary", {
  type([x, cosines, sines]) {
    wantFloat(x);
    for (const angles of [cosines, sines]) sameDType([x, angles]);
    const half = x.shape[x.shape.length - 1]?.dividedBy(2);
    if (!half) throw new GraphError(`rotates pairs, so the last axis of ${showShape(x.shape)} must be even`);
    const halves = [...x.shape.slice(0, -1), half];
    if (!sameShape(cosines.shape, sines.shape) || !sameShape(broadcastShapes(halves, cosines.shape), halves)) {
      throw new GraphError(`the angles ${showShape(cosines.shape)} and ${showShape(sines.shape)} do not broadcast to ${showShape(halves)}`);
    }
    return x;
  },
  vjp({ g, inputs: [x, cosines, sines] }) {
    const [a, b] = split(x, -1, 2);
    const [ga, gb] = split(g, -1, 2);
    return [
      rotary(g, cosines, neg(sines)), // a rotation's transpose turns back
      sumTo(add(mul(ga, a), mul(gb, b)), cosines.shape),
      sumTo(sub(mul(gb, a), mul(ga, b)), sines.shape),
    ];
  },
  onnx(e, [x, cosines, sines], { inputs: [type] }) {
    const half = type.shape[type.shape.length - 1].dividedBy(2) as Dim;
    const [a, b] = e.nodes("Split", [x, e.dims([half, half])], { axis: -1 }, { outputs: 2 });
    const times = (u: string, v: string) => e.node("Mul", [u, v]);
    const first = e.node("Sub", [times(a, cosines), times(b, sines)]);
    const second = e.node("Add", [times(a, sines), times(b, cosines)]);
    return e.node("Concat", [first, second], { axis: -1 });
  },
  cost: ([x, cosines, sines]) => ({
    flops: size(x).times(3),
    bytes: byteSize(x)
      .times(11)
      .plus(byteSize(cosines).plus(byteSize(sines)).times(2)), // split, four products, two sums, concat
  }),
  examples: (f) => [
    { inputs: [real(f, "a", "t", 6), real(f, "t", 3), real(f, "t", 3)], attributes: {} },
    { inputs: [real(f, "t", 4), real(f, "t", 2), real(f, "t", 2)], attributes: {} },
  ],
});

/** Turns each pair (x_i, x_{i + size/2}) of the last axis by an angle, given by its cosine and sine. */
export const rotary = (x: Tensor, cosines: Tensor, sines: Tensor): Tensor => rotaryOp.one([x, cosines, sines], {});
