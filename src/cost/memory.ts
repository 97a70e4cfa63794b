import { type Graph, graphNodes } from "../graph/graph.ts";
import { isLeaf } from "../graph/leaves.ts";
import { prefixes } from "../graph/names.ts";
import { type Node, type Tensor, topological } from "../graph/tensor.ts";
import { byteSize } from "../graph/type.ts";
import { isView } from "../ops/movement.ts";
import { bound, type Sizes } from "./nodes.ts";

// Memory of what is computed on the way. Parameters, gradients, inputs and constants are not in it: they have buffers of their own.

export interface ActivationMemory {
  /**
   * The most bytes that are alive at once, when the nodes run in the order in which they are written, each tensor from where it is
   * computed to where it is last read. Views are free; nothing is computed in place.
   */
  readonly peakBytes: number;
  /** What the forward pass computes and the backward pass reads again; 0 without one. */
  readonly keptBytes: number;
}

/** The tensor whose memory a tensor uses: a reshape is a view. */
const owner = (x: Tensor): Tensor => (isView(x) ? owner(x.node.inputs[0]) : x);

const isGradient = (name: string): boolean => name.startsWith(prefixes.gradient);

export function activationMemory(graph: Graph, sizes: Sizes): ActivationMemory {
  const outputs = [...graph.outputs];
  const gradients = new Set(outputs.filter(([name]) => isGradient(name)).map(([, x]) => owner(x)));
  const bytes = (x: Tensor) => (isLeaf(x.node) || gradients.has(x) ? 0 : bound(byteSize(x.type), sizes));
  const forward = new Set(topological(outputs.filter(([name]) => !isGradient(name)).map(([, x]) => x)));
  return { peakBytes: peak(graph, bytes), keptBytes: kept(graph, forward, bytes) };
}

function peak(graph: Graph, bytes: (x: Tensor) => number): number {
  const nodes = graphNodes(graph).filter((node) => !isView(node));
  const lastUse = new Map<Tensor, number>();
  for (const [time, { outputs, inputs }] of views(nodes).entries()) {
    for (const x of [...outputs, ...inputs]) lastUse.set(x, time);
  }
  for (const x of graph.outputs.values()) lastUse.set(owner(x), nodes.length);
  const freed = new Map<number, number>();
  for (const [x, time] of lastUse) freed.set(time, (freed.get(time) ?? 0) + bytes(x));
  let [alive, most] = [0, 0];
  for (const [time, { outputs }] of nodes.entries()) {
    for (const y of outputs) alive += bytes(y);
    most = Math.max(most, alive);
    alive -= freed.get(time) ?? 0;
  }
  return most;
}

/** Nodes that read the owners of what they read. */
const views = (nodes: readonly Node[]) => nodes.map(({ outputs, inputs }) => ({ outputs, inputs: inputs.map(owner) }));

function kept(graph: Graph, forward: ReadonlySet<Node>, bytes: (x: Tensor) => number): number {
  const backward = graphNodes(graph).filter((node) => !forward.has(node) && !isView(node));
  const read = new Set(backward.flatMap(({ inputs }) => inputs.map(owner)).filter((x) => forward.has(x.node)));
  return [...read].reduce((total, x) => total + bytes(x), 0);
}
