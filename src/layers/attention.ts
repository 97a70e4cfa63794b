import { GraphError } from "../base/errors.ts";
import { Dim } from "../graph/dim.ts";
import { type Initialiser, normal } from "../graph/leaves.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { causalMask, masked } from "../ops/mask.ts";
import { reshape, split, transpose } from "../ops/movement.ts";
import { matmul } from "../ops/products.ts";
import { softmax } from "../ops/softmax.ts";
import { dense } from "./linear.ts";

export interface AttentionOptions {
  readonly heads: number;
  readonly output?: Initialiser;
}

/** Causal multi-head self-attention. */
export const attention = layer((p, x: Tensor, { heads, output = normal(0.02) }: AttentionOptions): Tensor => {
  const [batch, time, width] = x.shape;
  const size = width.dividedBy(heads);
  if (!size) throw new GraphError(`at ${p.path}: the width ${width} is not divisible into ${heads} heads`);
  const splitHeads = (y: Tensor) => transpose(reshape(y, [batch, time, heads, size]), [0, 2, 1, 3]); // [batch, head, time, size]
  const [q, k, v] = split(dense(p.at("qkv"), x, width.times(3)), -1, 3).map(splitHeads);
  const scores = matmul(q, k, { transposeB: true, scale: (size.value as number) ** -0.5 }); // [batch, head, query, key]
  const pattern = p.tap("pattern", softmax(masked(p.tap("scores", scores), causalMask(time, time))));
  const mixed = matmul(pattern, v); // [batch, head, query, size]
  return dense(p.at("out"), reshape(transpose(mixed, [0, 2, 1, 3]), [batch, time, Dim.of(width)]), width, output);
});
