import { GraphError } from "../base/errors.ts";
import { type Dim, product } from "../graph/dim.ts";
import { defineOp, type Op } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { TensorType } from "../graph/type.ts";
import { real } from "./example.ts";
import { zerosLike } from "./fill.ts";

const count = ({ shape }: TensorType): Dim => product(shape);

const afterOp: Op = defineOp("after", {
  type([x, other]) {
    if (x.dtype !== other.dtype) throw new GraphError(`${x.dtype} and ${other.dtype} do not mix; cast one of them`);
    return x;
  },
  vjp: ({ g, inputs: [, other] }) => [g, zerosLike(other)],
  // Nothing of the other is put behind the numbers: they are copied, and only when the other is there.
  onnx(e, [x, other], { inputs: [type, late] }) {
    const [flat, rest] = [e.reshape(x, type.shape, [count(type)]), e.reshape(other, late.shape, [count(late)])];
    const nothing = e.node("Slice", [rest, e.integers([0]), e.integers([0])]);
    return e.reshape(e.node("Concat", [flat, nothing], { axis: 0 }), [count(type)], type.shape);
  },
  cost: () => ({ flops: 0 }),
  examples: (f) => [{ inputs: [real(f, "a", "b"), real(f, "c")], attributes: {} }],
});

/** The same numbers, but not before another tensor is there: what depends on them is computed late, and counts as computed anew. */
export const after = (x: Tensor, other: Tensor): Tensor => afterOp.one([x, other], {});
