import { bytesPerElement } from "../base/arrays.ts";
import { nodeCost } from "../graph/cost.ts";
import { Dim, product } from "../graph/dim.ts";
import type { Node, Tensor } from "../graph/tensor.ts";
import { byteSize, size } from "../graph/type.ts";
import { dropoutCost } from "../ops/dropout.ts";
import { type Label, labelOf, layerOf, type Part } from "./parts.ts";

// What one node of the graph that runs costs, shared out among the parts of the model.

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

/** What a node costs: one entry, or one for each part of attention in one op. */
export function nodeCosts(node: Node, sizes: Sizes): NodeCost[] {
  const layer = layerOf(node.scope);
  const operation = node.op.name;
  const cost = nodeCost(node);
  const whole = { flops: bound(cost.flops, sizes), products: bound(productFlops(node), sizes), bytes: bound(cost.bytes, sizes) };
  const label = labelOf(node);
  if (operation !== "attend" && operation !== "attendPast") return [{ part: backwardPart(node, label), operation, layer, ...whole }];
  const { scores, mix } = attendProducts(node, sizes);
  const dropped = attendDropout(node, sizes);
  const [flops, bytes] = (["flops", "bytes"] as const).map((of) => whole[of] - scores[of] - mix[of] - dropped[of]);
  const parts: [Part, Amount][] = [
    ["scores", scores],
    ["softmax", { flops, products: 0, bytes }],
    ["dropout", dropped],
    ["weighted sum", mix],
  ];
  return parts
    .filter(([part, { bytes }]) => part !== "dropout" || bytes > 0)
    .map(([part, amount]) => ({ part, operation, layer, ...amount }));
}

/** What it takes to drop a share of the pattern, whose noise is the last input; nothing where there is none. */
function attendDropout({ inputs, outputs: [, pattern] }: Node, sizes: Sizes): Amount {
  const noise = inputs[inputs.length - 1];
  if (noise.dtype !== "uint8") return nothing;
  const { flops, bytes } = dropoutCost(pattern.type, noise.type);
  return { flops: bound(flops, sizes), products: 0, bytes: bound(bytes, sizes) };
}

/** 2mnk for what multiplies matrices, without a bias; 0 for everything else. */
function productFlops(node: Node): Dim {
  const { flops } = nodeCost(node);
  if (node.op.name === "matmul" || node.op.name === "rowsProduct") return flops;
  if (node.op.name === "linear") return node.inputs.length > 2 ? flops.minus(size(node.outputs[0].type)) : flops;
  return Dim.of(0);
}

/** Queries times keys, and pattern times values, of attention in one op. */
function attendProducts({ op, inputs, outputs: [mixed] }: Node, sizes: Sizes): { scores: Amount; mix: Amount } {
  const past = op.name === "attendPast";
  const [q] = inputs;
  const [keys, values] = past ? [inputs.filter((_, i) => i === 1 || i === 3), [inputs[2], inputs[4]]] : [[inputs[1]], [inputs[2]]];
  const seen = keys.reduce((total, k) => total + bound(k.shape[k.rank - 2], sizes), 0);
  const pattern = bound(product(q.shape.slice(0, -1)), sizes) * seen;
  const numberBytes = bytesPerElement(q.dtype);
  const bytesOf = (...tensors: readonly Tensor[]) => tensors.reduce((total, x) => total + bound(byteSize(x.type), sizes), 0);
  const amount = (depth: Dim, bytes: number): Amount => {
    const flops = 2 * pattern * bound(depth, sizes);
    return { flops, products: flops, bytes: bytes + pattern * numberBytes };
  };
  return {
    scores: amount(q.shape[q.rank - 1], bytesOf(q, ...keys)),
    mix: amount(mixed.shape[mixed.rank - 1], bytesOf(...values, mixed)),
  };
}

/**
 * The way back through attention in one op: the pattern itself is multiplied for the values' gradient, what is made of it (the scores'
 * gradient) for those of queries and keys, and neither of them for the pattern's.
 */
function backwardPart({ op, inputs }: Node, label: Label): Part {
  if (label !== "attend") return label;
  if (op.name === "dropout") return "dropout";
  if (op.name !== "matmul") return "softmax";
  const isPattern = (x: Tensor): boolean =>
    (x.node.op.name === "attend" && x.index === 1) || (x.node.op.name === "dropout" && isPattern(x.node.inputs[0]));
  const ofScores = !inputs.some(isPattern) && inputs.some((x) => x.node.inputs.some(isPattern));
  return ofScores ? "scores" : "weighted sum";
}
