import { EngineError, GraphError } from "../base/errors.ts";
import { Dim } from "../graph/dim.ts";
import { defineOp } from "../graph/op.ts";
import type { Tensor } from "../graph/tensor.ts";
import { showShape, size, tensorType } from "../graph/type.ts";
import { bytes, real } from "./example.ts";

/** So many weights share a scale. */
export const blockSize = 32;

export type Bits = 4 | 8;

const blocksOf = (from: number): number => Math.ceil(from / blockSize);

const quantisedLinearOp = defineOp<{ bits: number; from: number }>("quantisedLinear", {
  type([x, packed, scales], { bits, from }) {
    const [to] = packed.shape;
    const blocks = blocksOf(from);
    const wanted = [to, Dim.of(blocks), Dim.of((blockSize * bits) / 8)];
    if (!x.shape[x.shape.length - 1]?.equals(from)) throw new GraphError(`contracts ${showShape(x.shape)} with ${from}`);
    if (packed.shape.length !== 3 || !wanted.every((dim, i) => dim.equals(packed.shape[i])) || packed.dtype !== "uint8")
      throw new GraphError(`wants bytes ${showShape(wanted)}, not ${packed.dtype}${showShape(packed.shape)}`);
    if (!size(scales).equals(to.times(blocks))) throw new GraphError(`wants ${to.times(blocks)} scales, not ${size(scales)}`);
    return tensorType(x.dtype, [...x.shape.slice(0, -1), to]);
  },
  onnx(e, [x, packed, scales], { inputs: [, { shape }], attributes: { bits, from } }) {
    if (!e.target.can("few-bit-products"))
      throw new EngineError(
        `${e.target.name} has no products with weights of ${bits} bits (MatMulNBits); use the weights as they were trained, f32`,
      );
    // accuracy_level 4 rounds the activations to 8 bits as well: without it, a product of whole numbers becomes one of floats, and slow.
    const attributes = { K: from, N: shape[0].known, bits, block_size: blockSize, accuracy_level: 4 };
    return e.node("MatMulNBits", [x, packed, scales], attributes, { domain: "com.microsoft" });
  },
  cost: (_, [y], { from }) => ({ flops: size(y).times(2 * from) }),
  examples: () => [
    // MatMulNBits takes float32 only; there is no gradient to check in float64
    { inputs: [real("float32", "a", 64), bytes(5, 2, 16), real("float32", 10)], attributes: { bits: 4, from: 64 } },
    { inputs: [real("float32", "a", "b", 40), bytes(3, 2, 32), real("float32", 6)], attributes: { bits: 8, from: 40 } },
  ],
});

/**
 * x Wᵀ for a matrix of few bits: W[o, i] = (q − half) · scale, with a scale for each block of 32 along i. `packed` is
 * [out, block, byte], two weights to a byte (the earlier in its lower half) or one.
 */
export const quantisedLinear = (x: Tensor, packed: Tensor, scales: Tensor, attributes: { bits: Bits; from: number }): Tensor =>
  quantisedLinearOp.one([x, packed, scales], attributes);
