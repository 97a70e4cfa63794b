import { GraphError } from "../base/errors.ts";
import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { byteSize, sameShape, showShape, size } from "../graph/type.ts";
import { bytes, real } from "./example.ts";

const dropoutOp = defineOp<{ threshold: number }>("dropout", {
  type([x, noise]) {
    if (noise.dtype !== "uint8") throw new GraphError(`the noise must be random bytes (uint8), not ${noise.dtype}`);
    if (!sameShape(x.shape, noise.shape))
      throw new GraphError(`the noise ${showShape(noise.shape)} does not have the shape ${showShape(x.shape)}`);
    return x;
  },
  rowwise: { inputs: 2, when: "fed by rows" },
  vjp: ({ g, inputs: [, noise], attributes }) => [dropoutOf(g, noise, attributes.threshold), undefined],
  onnx(e, [x, noise], { inputs: [{ dtype }], attributes: { threshold } }) {
    const kept = e.node("Cast", [e.node("GreaterOrEqual", [noise, e.scalar("uint8", threshold)])], { to: e.typeNumber(dtype) });
    const scaled = e.node("Mul", [kept, e.scalar(dtype, 256 / (256 - threshold))]);
    return e.node("Mul", [x, scaled]);
  },
  cost: ([x, noise]) => ({
    flops: size(x).times(3),
    bytes: byteSize(x).times(6).plus(byteSize(noise).times(3)), // compare, cast, scale, multiply: a pass each
  }),
  examples: (f) => [{ inputs: [real(f, "a", "b"), bytes("a", "b")], attributes: { threshold: 77 } }],
});

const dropoutOf = (x: Tensor, noise: Tensor, threshold: number): Tensor => dropoutOp.one([x, noise], { threshold });

/**
 * Zeros a share of the elements and scales the rest so that the mean stays. The randomness is fed: one byte for each element,
 * so the share is a multiple of 1/256 (the nearest; the scale matches it exactly).
 */
export function dropout(x: Tensor, noise: Tensor, rate: number): Tensor {
  if (!(rate >= 0 && rate < 1)) throw new GraphError(`dropout: the rate is a share from 0 to below 1, not ${rate}`);
  const threshold = Math.min(255, Math.round(rate * 256));
  return threshold === 0 ? x : dropoutOf(x, noise, threshold);
}
