import { copyNode, rewrite } from "./cleanup.ts";
import type { Graph } from "./graph.ts";
import { input, isLeaf } from "./leaves.ts";
import { prefixes } from "./names.ts";
import { type Tensor, topological } from "./tensor.ts";

/** Whether an input, or an output, is what one stage of a graph leaves for later ones. */
export const isAcross = (name: string): boolean => name.startsWith(across);
const across = `${prefixes.internal}across `;

/**
 * A graph in stages, which are computed one after the other: each gives the outputs that are named for it, the last the rest. What later stages read of earlier ones
 * is an output there and an input here, under the same name. No node is computed twice, and none changes.
 */
export function cutGraph(graph: Graph, stages: readonly (readonly string[])[]): Graph[] {
  const found: Graph[] = [];
  let [rest, count] = [graph, 0];
  for (const names of stages) {
    const own = new Map([...rest.outputs].filter(([name]) => names.includes(name)));
    const later = new Map([...rest.outputs].filter(([name]) => !own.has(name)));
    if (own.size === 0 || later.size === 0) continue;
    const crossing = new Map(tensorsAcross([...own.values()], [...later.values()]).map((x) => [x, `${across}${count++}`]));
    found.push(withOwnInputs({ ...rest, outputs: new Map([...own, ...[...crossing].map(([x, name]): [string, Tensor] => [name, x])]) }));
    rest = withOwnInputs(standingIn({ ...rest, outputs: later }, crossing));
  }
  return [...found, rest];
}

/** What is computed for the first tensors, and read for the others. */
function tensorsAcross(first: readonly Tensor[], others: readonly Tensor[]): Tensor[] {
  const nodes = new Set(topological(first));
  const isThere = (x: Tensor) => nodes.has(x.node) && !isLeaf(x.node);
  const read = topological(others).filter((node) => !nodes.has(node));
  return [...new Set([...read.flatMap((node) => node.inputs), ...others].filter(isThere))];
}

/** The same graph, with inputs in the place of what is computed elsewhere. */
function standingIn(graph: Graph, names: ReadonlyMap<Tensor, string>): Graph {
  const inputs = new Map([...names].map(([x, name]) => [x, input(name, x.type)]));
  const rewritten = rewrite(graph, (node, given) => {
    const copied = copyNode(node, given);
    return node.outputs.map((y, i) => inputs.get(y) ?? copied[i]);
  });
  return {
    ...rewritten,
    inputs: new Map([...graph.inputs, ...[...inputs].map(([x, y]): [string, Tensor] => [names.get(x) as string, y])]),
  };
}

/** Without what other stages left that is not read here; what a function is fed stays, since sizes follow from it. */
function withOwnInputs(graph: Graph): Graph {
  const read = new Set(topological([...graph.outputs.values()]));
  return { ...graph, inputs: new Map([...graph.inputs].filter(([name, x]) => !isAcross(name) || read.has(x.node))) };
}
