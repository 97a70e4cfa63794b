import { Dim } from "./dim.ts";
import { type Graph, graphNodes } from "./graph.ts";
import { isInput, isParameter } from "./leaves.ts";
import { type Attribute, makeNode } from "./op.ts";
import { atPlace } from "./place.ts";
import { type Node, type Tensor, topological } from "./tensor.ts";

/** The same graph with less to compute: simpler nodes where an op knows one, nothing twice, nothing that no output needs. */
export function cleanUp(graph: Graph): Graph {
  let [result] = sweep(graph, false); // merge first, so that uses are counted right
  for (let changed = true; changed; ) [result, changed] = sweep(result, true); // what one sweep simplifies may simplify further
  return result;
}

function sweep(graph: Graph, simplifies: boolean): [Graph, boolean] {
  let changed = false;
  const seen = new Map<string, readonly Tensor[]>();
  const numbers = new Map<Node, number>();
  const number = (node: Node) => numbers.get(node) ?? numbers.set(node, numbers.size).size - 1;
  const uses = countUses(graph);
  const origin = new Map<Tensor, Tensor>(); // from a copy to the tensor whose uses were counted
  const usedOnce = (x: Tensor) => uses.get(origin.get(x) ?? x) === 1;
  const result = rewrite(graph, (node, inputs) => {
    if (isInput(node) || isParameter(node)) return node.outputs;
    const { type } = node.outputs[0];
    const simpler = simplifies && atPlace(node, () => node.op.simplify?.(inputs, node.attributes, { type, usedOnce }));
    if (simpler) {
      changed = true;
      return [simpler].flat();
    }
    const key = `${node.op.name}(${inputs.map((x) => `${number(x.node)}.${x.index}`)}){${attributesKey(node.attributes)}}`;
    const found = seen.get(key);
    if (found) {
      changed = true;
      return found;
    }
    const outputs = copyNode(node, inputs);
    for (const [i, y] of outputs.entries()) origin.set(y, node.outputs[i]);
    seen.set(key, outputs);
    return outputs;
  });
  return [result, changed];
}

function countUses(graph: Graph): Map<Tensor, number> {
  const uses = new Map<Tensor, number>();
  const count = (x: Tensor) => uses.set(x, (uses.get(x) ?? 0) + 1);
  for (const node of graphNodes(graph)) node.inputs.forEach(count);
  for (const x of graph.outputs.values()) count(x);
  return uses;
}

/** Copies a graph node by node, inputs before outputs; `replace` gives the tensors that stand for a node's outputs. */
export function rewrite(graph: Graph, replace: (node: Node, inputs: readonly Tensor[]) => readonly Tensor[]): Graph {
  const replaced = new Map<Tensor, Tensor>();
  for (const node of topological([...graph.outputs.values()])) {
    const results = replace(
      node,
      node.inputs.map((x) => replaced.get(x) as Tensor),
    );
    for (const [i, y] of node.outputs.entries()) replaced.set(y, results[i]);
  }
  const follow = (tensors: ReadonlyMap<string, Tensor>) => new Map([...tensors].map(([name, x]) => [name, replaced.get(x) as Tensor]));
  return { ...graph, outputs: follow(graph.outputs) };
}

export function copyNode(node: Node, inputs: readonly Tensor[]): readonly Tensor[] {
  if (isInput(node) || isParameter(node)) return node.outputs;
  return makeNode(
    node.op,
    inputs,
    node.attributes,
    node.outputs.map((y) => y.type),
    node,
  );
}

const identities = new WeakMap<object, number>();
let identityCount = 0;

/** Attributes as text: equal text, equal attributes. Large constants are equal only to themselves. */
function attributesKey(attribute: Attribute): string {
  if (attribute instanceof Dim) return attribute.expression;
  if (ArrayBuffer.isView(attribute)) {
    if (attribute.length <= 16)
      return `${attribute.constructor.name}${Array.from(attribute as Iterable<number | bigint>, (value) => (Object.is(value, -0) ? "-0" : value)).join()}`;
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
