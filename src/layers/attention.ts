import { GraphError } from "../base/errors.ts";
import type { Dim } from "../graph/dim.ts";
import { type Initialiser, normal } from "../graph/leaves.ts";
import { layer, type Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { attend } from "../ops/attend.ts";
import { where } from "../ops/compare.ts";
import { fill } from "../ops/fill.ts";
import { causalMask, lowest, masked } from "../ops/mask.ts";
import { concat, reshape, split, transpose } from "../ops/movement.ts";
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
  const qkv = reshape(dense(p.at("qkv"), x, width.times(3)), [batch, time, 3 * heads, size]);
  const [q, k, v] = split(transpose(qkv, [0, 2, 1, 3]), 1, 3); // [batch, head, time, size]
  const scale = (size.value as number) ** -0.5;
  const mix = p.isTapped("scores", "pattern") ? inTheOpen(p, q, k, v, scale) : inBlocks(q, k, v, scale); // [batch, head, time, size]
  return dense(p.at("out"), reshape(transpose(mix, [0, 2, 1, 3]), [batch, time, width]), width, output);
});

/** softmax(mask(q kᵀ/√size)) v, step by step, so that each step can be tapped and patched. */
function inTheOpen(p: Scope, q: Tensor, k: Tensor, v: Tensor, scale: number): Tensor {
  const scores = p.tap("scores", matmul(q, k, { transposeB: true, scale })); // [batch, head, query, key]
  const pattern = p.tap("pattern", softmax(masked(scores, causalMask(q.shape[2], k.shape[2]))));
  return matmul(pattern, v);
}

/** The same in one op for each block of queries. A block leaves out the keys that all of its queries are too early for. */
function inBlocks(q: Tensor, k: Tensor, v: Tensor, scale: number): Tensor {
  const count = blockCount(q.shape[2]);
  const [queries, keys, values] = [q, k, v].map((x) => split(x, 2, count));
  const mixed = queries.map((block, i) => {
    const seen = (parts: readonly Tensor[]) => concat(parts.slice(0, i + 1), 2);
    const bias = where(causalMask(block.shape[2], seen(keys).shape[2]), fill(q.dtype, [], 0), lowest[q.dtype as "float32"]);
    return attend(block, seen(keys), seen(values), { scale, bias }).mixed;
  });
  return concat(mixed, 2);
}

/** Blocks pay from a few hundred positions on. */
function blockCount(time: Dim): number {
  const { value = 0 } = time;
  return [8, 4, 2].find((count) => value % count === 0 && value / count >= 128) ?? 1;
}
