import { Dim, sum } from "./dim.ts";
import { type Graph, graphNodes } from "./graph.ts";
import type { Cost, Share } from "./op.ts";
import type { Node } from "./tensor.ts";

/** What a node costs each part of the model whose work it does: exact, and formulas where sizes are open. */
export function nodeShares(node: Node): Required<Share>[] {
  const shares = node.op.cost(
    node.inputs.map((x) => x.type),
    node.outputs.map((y) => y.type),
    node.attributes,
  );
  return shares.map(({ part = node.part, ...cost }) => ({ ...cost, part }));
}

/** What a node costs. */
export const nodeCost = (node: Node): Cost => total(nodeShares(node));

/** What a whole graph costs, each node once. */
export const graphCost = (graph: Graph): Cost => total(graphNodes(graph).flatMap(nodeShares));

function total(costs: readonly Cost[]): Cost {
  const all = (of: keyof Cost) => Dim.fromTerms(sum(costs.map((cost) => cost[of])).terms);
  return { flops: all("flops"), products: all("products"), bytes: all("bytes") };
}
