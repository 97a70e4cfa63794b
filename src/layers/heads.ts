import { GraphError } from "../base/errors.ts";
import { Dim } from "../graph/dim.ts";
import { type Initialiser, zeros } from "../graph/leaves.ts";
import { inPart } from "../graph/place.ts";
import { layer } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { add } from "../ops/arithmetic.ts";
import { reshape, split, transpose } from "../ops/movement.ts";
import { matmul } from "../ops/products.ts";
import { expand } from "../ops/sum.ts";
import { dense, glorot } from "./linear.ts";

/** How the width is shared among heads: cut after the projection, cut before it, or not cut at all. */
export const multiHeadKinds = ["split", "narrow", "wide"] as const;
export type MultiHead = (typeof multiHeadKinds)[number];

/** Which projections of a block have biases: all but those with a gate; those of queries, keys and values; or none. */
export const biasKinds = ["all", "qkv", "none"] as const;
export type BiasKind = (typeof biasKinds)[number];

export interface HeadOptions {
  readonly heads: number;
  /** Heads of keys and values, each for a group of queries' heads; as many as those if left out. */
  readonly kvHeads?: number;
  readonly multiHead: MultiHead;
  /** Size of queries and keys, and of values, in each head. */
  readonly keySize: number;
  readonly valueSize: number;
  /** Whether the projections have biases. */
  readonly bias?: boolean;
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

/** Keys or values of fewer heads, once for each head that asks: head h has those of ⌊h · kvHeads/heads⌋. */
export function repeatHeads(x: Tensor, heads: Dim): Tensor {
  const [batch, kv, time, size] = x.shape;
  const group = groupOf(heads, kv);
  if (group === 1) return x;
  const each = expand(reshape(x, [batch, kv, 1, time, size]), [batch, kv, Dim.of(group), time, size]);
  return inPart("heads", () => reshape(each, [batch, heads, time, size]));
}

/** How many heads of queries share one of keys and values. */
const groupOf = (heads: Dim, kvHeads: Dim): number => heads.known / kvHeads.known;

/**
 * Queries of a group as rows of one product with the keys that they share, [batch, kvHead, group · query, size]: the numbers stay where
 * they are, and no key or value is there twice.
 */
export class Groups {
  readonly #heads: Dim;
  readonly #kvHeads: Dim;
  readonly #group: number;

  constructor(heads: Dim, kvHeads: Dim) {
    this.#heads = heads;
    this.#kvHeads = kvHeads;
    this.#group = groupOf(heads, kvHeads);
  }

  /** [batch, head, query, …] → [batch, kvHead, group · query, …] */
  rows(x: Tensor): Tensor {
    const [batch, , query, last] = x.shape;
    return this.#group === 1 ? x : reshape(x, [batch, this.#kvHeads, query.times(this.#group), last]);
  }

  /** And back. */
  back(x: Tensor): Tensor {
    const [batch, , rows, last] = x.shape;
    return this.#group === 1 ? x : reshape(x, [batch, this.#heads, rows.dividedBy(this.#group) as Dim, last]);
  }

  /** What is added to scores and broadcasts to [batch, head, query, key], so that it broadcasts to those of the groups. */
  bias(x: Tensor): Tensor {
    const [head, query, key] = [Dim.of(1), ...x.shape].slice(-3); // a head for all of them, if none is named
    const before = x.shape.slice(0, -3);
    if (this.#group === 1 || (head.value === 1 && query.value === 1)) return x;
    const rows = query.times(this.#group);
    if (head.value !== 1) return reshape(x, [...before, this.#kvHeads, rows, key]);
    const each = expand(reshape(x, [...before, 1, query, key]), [...before, this.#group, query, key]);
    return reshape(each, [...before, 1, rows, key]);
  }
}

/** Queries, keys and values of self-attention, [batch, head, time, size] each. */
export const selfProjections = layer("projections", (p, x: Tensor, options: HeadOptions): [Tensor, Tensor, Tensor] => {
  const { heads, kvHeads = heads, multiHead, keySize, valueSize, bias, weight } = options;
  if (multiHead === "narrow" || keySize !== valueSize) return [queries(p, x, options), ...sourceProjections(p, x, options)];
  // One product and one transpose for all three.
  const start = weight ?? glorot(x.shape[2].known, heads * keySize); // each of the three is a matrix of its own
  const stacked = [heads * keySize, kvHeads * keySize, kvHeads * keySize];
  const all = dense(p.at("qkv"), x, (heads + 2 * kvHeads) * keySize, { weight: start, bias, stacked });
  const [q, k, v] = inPart("heads", () => split(splitHeads(all, heads + 2 * kvHeads), 1, [heads, kvHeads, kvHeads]));
  return [q, k, v];
});

/** Cross-attention's queries, from the sequence that asks. */
export const queries = layer((p, x: Tensor, options: HeadOptions): Tensor => part(p, "q", x, options.keySize, options.heads, options));

/** Its keys and values, from the sequence that is asked. */
export const sourceProjections = layer((p, source: Tensor, options: HeadOptions): [Tensor, Tensor] => {
  const { heads, kvHeads = heads, keySize, valueSize } = options;
  return [part(p, "k", source, keySize, kvHeads, options), part(p, "v", source, valueSize, kvHeads, options)];
});

type PartOptions = Pick<HeadOptions, "multiHead" | "weight" | "bias">;

const part = layer("projections", (p, name: string, x: Tensor, size: number, heads: number, options: PartOptions): Tensor => {
  const { multiHead, weight, bias = true } = options;
  if (multiHead !== "narrow") return splitHeads(dense(p.at(name), x, heads * size, { weight, bias }), heads);
  const chunks = splitHeads(x, heads); // [batch, head, time, width/heads]: each head sees its own part of the input
  const chunk = chunks.shape[3].known;
  const place = p.at(name);
  const projected = matmul(chunks, place.param("weight", [heads, chunk, size], weight ?? glorot(chunk, size)));
  return bias ? add(projected, place.param("bias", [heads, 1, size], zeros)) : projected;
});
