import { copyNode, rewrite } from "../graph/cleanup.ts";
import { Dim } from "../graph/dim.ts";
import { type Graph, graphNodes } from "../graph/graph.ts";
import { constant, isConstant, isInput, isParameter } from "../graph/leaves.ts";
import type { Attribute } from "../graph/op.ts";
import type { Node, Tensor } from "../graph/tensor.ts";
import { byteSize, concreteShape } from "../graph/type.ts";
import { emitOnnx, outputName } from "../onnx/emit.ts";
import type { Engine, SessionOptions } from "./session.ts";

/** A folded constant larger than this costs more to keep than to compute. */
const largest = 8 * 2 ** 20;

/**
 * Computes once what depends on no input: causal masks, position tables. The engine itself does the arithmetic, so a folded
 * value is the value that the graph would have had. Sizes must be known; what depends on an open symbol stays.
 */
export async function foldConstants(graph: Graph, engine: Engine, { denormals }: SessionOptions = {}): Promise<Graph> {
  const fixed = new Set<Node>();
  const wanted = new Set<Tensor>(); // what the rest of the graph reads of the constant part
  for (const node of graphNodes(graph)) {
    if (isFixed(node, fixed)) fixed.add(node);
    else for (const x of node.inputs) if (fixed.has(x.node) && !isConstant(x)) wanted.add(x);
  }
  if (wanted.size === 0) return graph;
  const outputs = new Map([...wanted].map((x, i) => [`${i}`, x]));
  const results = new Map<Tensor, Tensor>();
  const part: Graph = { inputs: new Map(), parameters: new Map(), noise: new Map(), outputs };
  const session = await engine.createSession(emitOnnx(part, { target: engine }), { threads: 1, denormals });
  try {
    const values = await session.run({}, [...outputs.keys()].map(outputName));
    for (const [name, x] of outputs) results.set(x, constant(values[outputName(name)]));
  } finally {
    await session.release();
  }
  return rewrite(graph, (node, inputs) => {
    const copied = copyNode(node, inputs);
    return node.outputs.map((y, i) => results.get(y) ?? copied[i]);
  });
}

/** Whether a node's value is known before anything is fed: no input, no open size, and not too large. */
function isFixed(node: Node, fixed: ReadonlySet<Node>): boolean {
  if (isInput(node) || isParameter(node) || hasOpenSize(node.attributes)) return false;
  const small = (y: Tensor) => concreteShape(y.type) && byteSize(y.type).known <= largest;
  return node.inputs.every((x) => fixed.has(x.node)) && node.outputs.every(small);
}

function hasOpenSize(attribute: Attribute): boolean {
  if (attribute instanceof Dim) return attribute.value === undefined;
  if (typeof attribute !== "object" || ArrayBuffer.isView(attribute)) return false;
  return Object.values(attribute).some(hasOpenSize);
}
