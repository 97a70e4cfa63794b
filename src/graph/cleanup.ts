import { Dim } from "./dim.ts";
import { type Graph, graphNodes } from "./graph.ts";
import { isInput, isParameter } from "./leaves.ts";
import { type Attribute, makeNode } from "./op.ts";
import { withPath } from "./path.ts";
import { type Node, type Tensor, topological } from "./tensor.ts";
import { sameShape } from "./type.ts";

/** The same graph with less to compute: simpler nodes where an op knows one, nothing twice, nothing that no output needs. */
export function cleanUp(graph: Graph): Graph {
  let before = graph;
  for (;;) {
    const after = sweep(before); // what one sweep simplifies, the next may find twice
    if (graphNodes(after).length >= graphNodes(before).length) return after;
    before = after;
  }
}

function sweep(graph: Graph): Graph {
  const seen = new Map<string, readonly Tensor[]>();
  const numbers = new Map<Node, number>();
  const number = (node: Node) => numbers.get(node) ?? numbers.set(node, numbers.size).size - 1;
  return rewrite(graph, (node, inputs) => {
    if (isInput(node.outputs[0]) || isParameter(node.outputs[0])) return node.outputs;
    const simpler = withPath(node.scope, () => node.op.simplify?.(inputs, node.attributes, node.outputs[0].type));
    if (simpler && sameShape(simpler.shape, node.outputs[0].shape)) return [simpler];
    const key = `${node.op.name}(${inputs.map((x) => `${number(x.node)}.${x.index}`)}){${attributesKey(node.attributes)}}`;
    const found = seen.get(key);
    if (found) return found;
    const outputs = copyNode(node, inputs);
    seen.set(key, outputs);
    return outputs;
  });
}

/** Copies a graph node by node, inputs before outputs; `replace` gives the tensors that stand for a node's outputs. */
export function rewrite(graph: Graph, replace: (node: Node, inputs: readonly Tensor[]) => readonly Tensor[]): Graph {
  const roots = [...graph.outputs.values(), ...graph.taps.values()];
  const replaced = new Map<Tensor, Tensor>();
  for (const node of topological(roots)) {
    const results = replace(
      node,
      node.inputs.map((x) => replaced.get(x) as Tensor),
    );
    for (const [i, y] of node.outputs.entries()) replaced.set(y, results[i]);
  }
  const follow = (tensors: ReadonlyMap<string, Tensor>) => new Map([...tensors].map(([name, x]) => [name, replaced.get(x) as Tensor]));
  return { ...graph, taps: follow(graph.taps), outputs: follow(graph.outputs) };
}

export function copyNode(node: Node, inputs: readonly Tensor[]): readonly Tensor[] {
  if (isInput(node.outputs[0]) || isParameter(node.outputs[0])) return node.outputs;
  return makeNode(
    node.op,
    inputs,
    node.attributes,
    node.outputs.map((y) => y.type),
    node.scope,
  );
}

const identities = new WeakMap<object, number>();
let identityCount = 0;

/** Attributes as text: equal text, equal attributes. Large constants are equal only to themselves. */
function attributesKey(attribute: Attribute): string {
  if (attribute instanceof Dim) return attribute.expression;
  if (ArrayBuffer.isView(attribute)) {
    if (attribute.length <= 16) return `${attribute.constructor.name}${Array.from(attribute as Iterable<unknown>).join()}`;
    if (!identities.has(attribute)) identities.set(attribute, identityCount++);
    return `#${identities.get(attribute)}`;
  }
  if (Array.isArray(attribute)) return `[${attribute.map(attributesKey)}]`;
  if (typeof attribute === "object")
    return Object.entries(attribute)
      .map(([name, value]) => `${name}:${attributesKey(value)}`)
      .join();
  return Object.is(attribute, -0) ? "-0" : `${attribute}`;
}
