import { GraphError } from "../base/errors.ts";
import { type Initialiser, zeros } from "../graph/leaves.ts";
import { inPart } from "../graph/place.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { add } from "../ops/arithmetic.ts";
import { reshape, split, transpose } from "../ops/movement.ts";
import { matmul } from "../ops/products.ts";
import { dense, glorot } from "./linear.ts";

/** How the width is shared among heads: cut after the projection, cut before it, or not cut at all. */
export const multiHeadKinds = ["split", "narrow", "wide"] as const;
export type MultiHead = (typeof multiHeadKinds)[number];

export interface HeadOptions {
  readonly heads: number;
  readonly multiHead: MultiHead;
  /** Size of queries and keys, and of values, in each head. */
  readonly keySize: number;
  readonly valueSize: number;
  readonly weight?: Initialiser;
}

/** The sizes that a head has unless they are given: width/heads, or the whole width for wide heads. */
export function headSize(width: number, heads: number, multiHead: MultiHead): number {
  if (multiHead === "wide") return width;
  if (width % heads !== 0)
    throw new GraphError(
      `a width of ${width} is not divisible into ${heads} heads; change one of them, or give key and value sizes with split heads`,
    );
  return width / heads;
}

/** [batch, time, head·size] → [batch, head, time, size] */
export function splitHeads(x: Tensor, heads: number): Tensor {
  const [batch, time, width] = x.shape;
  const size = width.dividedBy(heads);
  if (!size) throw new GraphError(`a width of ${width} is not divisible into ${heads} heads`);
  return inPart("heads", () => transpose(reshape(x, [batch, time, heads, size]), [0, 2, 1, 3]));
}

/** [batch, head, time, size] → [batch, time, head·size] */
export function mergeHeads(x: Tensor): Tensor {
  const [batch, head, time, size] = x.shape;
  return inPart("heads", () => reshape(transpose(x, [0, 2, 1, 3]), [batch, time, head.times(size)]));
}

/** Queries, keys and values of self-attention, [batch, head, time, size] each. */
export const selfProjections = layer("projections", (p, x: Tensor, options: HeadOptions): [Tensor, Tensor, Tensor] => {
  const { heads, multiHead, keySize, valueSize, weight } = options;
  if (multiHead === "narrow" || keySize !== valueSize)
    return [part(p, "q", x, keySize, options), part(p, "k", x, keySize, options), part(p, "v", x, valueSize, options)];
  // One product and one transpose for all three.
  const start = weight ?? glorot(x.shape[2].known, heads * keySize); // each of the three is a matrix of its own
  const all = dense(p.at("qkv"), x, 3 * heads * keySize, { weight: start });
  const [q, k, v] = inPart("heads", () => split(splitHeads(all, 3 * heads), 1, 3));
  return [q, k, v];
});

/** Cross-attention's queries, from the sequence that asks. */
export const queries = layer((p, x: Tensor, options: HeadOptions): Tensor => part(p, "q", x, options.keySize, options));

/** Its keys and values, from the sequence that is asked. */
export const sourceProjections = layer((p, source: Tensor, options: HeadOptions): [Tensor, Tensor] => [
  part(p, "k", source, options.keySize, options),
  part(p, "v", source, options.valueSize, options),
]);

const part = layer("projections", (p, name: string, x: Tensor, size: number, { heads, multiHead, weight }: HeadOptions): Tensor => {
  if (multiHead !== "narrow") return splitHeads(dense(p.at(name), x, heads * size, { weight }), heads);
  const chunks = splitHeads(x, heads); // [batch, head, time, width/heads]: each head sees its own part of the input
  const chunk = chunks.shape[3].known;
  const place = p.at(name);
  const projected = matmul(chunks, place.param("weight", [heads, chunk, size], weight ?? glorot(chunk, size)));
  return add(projected, place.param("bias", [heads, 1, size], zeros));
});
