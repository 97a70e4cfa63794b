import { Dim, sum } from "./dim.ts";
import { type Graph, graphNodes } from "./graph.ts";
import type { Cost } from "./op.ts";
import type { Node } from "./tensor.ts";

/** What a node costs: exact, and a formula where sizes are open. */
export function nodeCost(node: Node): Cost {
  return node.op.cost(
    node.inputs.map((x) => x.type),
    node.outputs.map((y) => y.type),
    node.attributes,
  );
}

/** What a whole graph costs, each node once. */
export function graphCost(graph: Graph): Cost {
  const costs = graphNodes(graph).map(nodeCost);
  const total = (dims: Dim[]) => Dim.fromTerms(sum(dims).terms);
  return { flops: total(costs.map(({ flops }) => flops)), bytes: total(costs.map(({ bytes }) => bytes)) };
}
