import { isFloat } from "../base/arrays.ts";
import { rewrite } from "../graph/cleanup.ts";
import type { Graph, Outputs, TensorFunction } from "../graph/graph.ts";
import { isInput, isParameter } from "../graph/leaves.ts";
import { makeNode } from "../graph/op.ts";
import { type Node, topological } from "../graph/tensor.ts";

// Which part of a model a node belongs to. Nodes remember where they were written, and gradients are written where the node that they are
// of was; so a finer name for the places of the forward pass names the way back too.

/** The parts of a model, in the order of the data's way. */
export const partNames = [
  "embedding",
  "positions",
  "projections",
  "scores",
  "softmax",
  "weighted sum",
  "output projection",
  "heads",
  "feed-forward",
  "recurrence",
  "norms",
  "residuals",
  "dropout",
  "logits",
  "loss",
  "optimizer",
  "other",
] as const;
export type Part = (typeof partNames)[number];

/** `attend` is scores, softmax and weighted sum in one op; its cost is shared out among the three. */
export type Label = Part | "attend";

const mark = "|";

/** The same function, whose nodes carry their part behind their place. The graph that is made of it computes exactly the same. */
export function labelled(fn: TensorFunction): TensorFunction {
  return { inputs: fn.inputs, build: (p, inputs) => withLabels(fn.build(p, inputs)) };
}

function withLabels(built: Outputs): Outputs {
  const outputs = new Map(Object.entries(built));
  const graph: Graph = { inputs: new Map(), parameters: new Map(), noise: new Map(), outputs };
  const mixes = weightedSums(topological([...outputs.values()]));
  const relabelled = rewrite(graph, (node, inputs) => {
    if (isInput(node.outputs[0]) || isParameter(node.outputs[0])) return node.outputs;
    const types = node.outputs.map(({ type }) => type);
    const label = node.scope === "" && outputs.has("loss") ? "loss" : forwardLabel(node, mixes);
    return makeNode(node.op, inputs, node.attributes, types, `${node.scope}${mark}${label}`);
  });
  return Object.fromEntries(relabelled.outputs);
}

/** Products of a pattern with values: what follows a softmax, or in a block (where there may be none) the last product of an attention. */
function weightedSums(nodes: readonly Node[]): ReadonlySet<Node> {
  const products = nodes.filter(({ op }) => op.name === "matmul");
  const last = new Map(products.filter(({ scope }) => /\bblock\.\d+\/(attention|cross)$/.test(scope)).map((node) => [node.scope, node]));
  return new Set([...last.values(), ...products.filter(({ inputs: [pattern] }) => pattern.node.op.name === "softmax")]);
}

export function labelOf({ scope }: Node): Label {
  const [place, label] = scope.split(mark);
  return (label as Label | undefined) ?? (place === "" ? "loss" : "other");
}

/** The layer that a place is in, such as `decoder/block.2`; undefined outside of all layers. */
export const layerOf = (place: string): string | undefined => /^(?:.*?\/)?(?:block|layer)\.\d+/.exec(place)?.[0];

function forwardLabel(node: Node, mixes: ReadonlySet<Node>): Label {
  const path = node.scope.split("/");
  const last = path[path.length - 1];
  if (node.op.name === "dropout") return "dropout";
  if (mixes.has(node)) return "weighted sum";
  if (path.includes("feedforward")) return "feed-forward";
  if (last.startsWith("norm")) return "norms";
  const attention = path.findIndex((name) => name === "attention" || name === "cross");
  if (attention >= 0) return attentionLabel(node, path[attention + 1]);
  if (path.includes("positions")) return "positions";
  if (path.some((name) => /^layer\.\d+$/.test(name))) return "recurrence";
  if (/^block\.\d+$/.test(last)) return "residuals";
  if (last === "scores" || last === "labels") return "logits";
  if (last === "join") return "output projection";
  return outerLabel(node);
}

/** Ops of the model itself, outside of its layers. */
function outerLabel({ op, inputs, outputs }: Node): Part {
  if (op.name === "linear") return "logits"; // with the embeddings as weights
  if (op.name === "softmax" || op.name === "where") return "softmax";
  if (op.name === "tanh" || (op.name === "concat" && isFloat(outputs[0].dtype))) return "output projection"; // of an RNN's state and context
  const looksUp = op.name === "embedding" || (op.name === "mul" && inputs[0].node.op.name === "embedding");
  return looksUp ? "embedding" : "other";
}

const moves = new Set(["reshape", "transpose", "split", "concat", "slice"]);
const masks = new Set(["softmax", "where", "and", "lessOrEqual", "mul", "cast"]);
const comparisons = new Set(["add", "tanh"]);

function attentionLabel({ op: { name } }: Node, inside: string | undefined): Label {
  if (inside === "out") return "output projection";
  if (inside !== undefined) return "projections";
  if (name === "attend" || name === "attendPast") return "attend";
  if (name === "matmul") return "scores";
  if (moves.has(name)) return "heads";
  if (masks.has(name)) return "softmax";
  return comparisons.has(name) ? "scores" : "positions";
}

/** The part that a parameter belongs to, by its name. */
export function parameterPart(name: string): Part {
  const path = name.split("/");
  const last = path[path.length - 1];
  if (path.includes("feedforward")) return "feed-forward";
  if (path.some((place) => place.startsWith("norm"))) return "norms";
  if (last === "tokens" || last === "source-tokens") return "embedding";
  if (path.includes("positions") || last === "relative") return "positions";
  const attention = path.findIndex((place) => place === "attention" || place === "cross");
  if (attention >= 0 && attention === path.length - 2) return "scores"; // bilinear and additive scores have weights of their own
  if (attention >= 0) return path[attention + 1] === "out" ? "output projection" : "projections";
  if (path.some((place) => /^layer\.\d+$/.test(place))) return "recurrence";
  if (path.includes("scores") || path.includes("labels")) return "logits";
  return path.includes("join") ? "output projection" : "other";
}
