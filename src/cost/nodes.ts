import { nodeShares } from "../graph/cost.ts";
import type { Dim } from "../graph/dim.ts";
import type { Part } from "../graph/place.ts";
import type { Node } from "../graph/tensor.ts";

// What one node of the graph that runs costs, in numbers.

/** Arithmetic, how much of it is inside products of matrices (2mnk each), and bytes that are read and written. */
export interface Amount {
  readonly flops: number;
  readonly products: number;
  readonly bytes: number;
}

export const nothing: Amount = { flops: 0, products: 0, bytes: 0 };

export const plus = (a: Amount, b: Amount): Amount => ({
  flops: a.flops + b.flops,
  products: a.products + b.products,
  bytes: a.bytes + b.bytes,
});

export interface NodeCost extends Amount {
  readonly part: Part;
  readonly operation: string;
  /** `decoder/block.2`; undefined outside of the layers. */
  readonly layer: string | undefined;
}

export type Sizes = Readonly<Record<string, number>>;

/** A size as a number, with what is still open bound. */
export const bound = (dim: Dim, sizes: Sizes): number => dim.bind(sizes).known;

/** What a node costs each part of the model whose work it does: one, or several for attention in one op. */
export function nodeCosts(node: Node, sizes: Sizes): NodeCost[] {
  const layer = layerOf(node.scope);
  return nodeShares(node).map(({ part, flops, products, bytes }) => ({
    part,
    operation: node.op.name,
    layer,
    flops: bound(flops, sizes),
    products: bound(products, sizes),
    bytes: bound(bytes, sizes),
  }));
}

/** The layer that a place is in, such as `decoder/block.2`; undefined outside of all layers. */
export const layerOf = (place: string): string | undefined => /^(?:.*?\/)?(?:block|layer)\.\d+/.exec(place)?.[0];
