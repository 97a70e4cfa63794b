import { graphCost, nodeCost } from "./cost.ts";
import { Dim } from "./dim.ts";
import { type Graph, graphNodes } from "./graph.ts";
import { isInput, isParameter, leafName } from "./leaves.ts";
import type { Attribute } from "./op.ts";
import type { Node, Tensor } from "./tensor.ts";
import { showType } from "./type.ts";

/** A graph for people: one line for each node, with its place, types and cost, in the order in which it is computed. */
export function printGraph(graph: Graph): string {
  const names = new Map<Tensor, string>();
  const lines: string[] = [];
  let scope = "";
  for (const node of graphNodes(graph)) {
    nameOutputs(node, names);
    if (isInput(node)) lines.push(`input ${names.get(node.outputs[0])}: ${showType(node.outputs[0].type)}`);
    else if (isParameter(node)) lines.push(`parameter ${names.get(node.outputs[0])}: ${showType(node.outputs[0].type)}`);
    else {
      if (node.scope !== scope) lines.push(`${node.scope || "(top)"}:`);
      scope = node.scope;
      lines.push(`  ${showNode(node, names)}`);
    }
  }
  for (const [name, x] of graph.outputs) lines.push(`output ${name} = ${names.get(x)}: ${showType(x.type)}`);
  const { flops, bytes } = graphCost(graph);
  return [...lines, `total: ${amount(flops)} flops, ${amount(bytes)} bytes`].join("\n");
}

function nameOutputs(node: Node, names: Map<Tensor, string>): void {
  const named = isInput(node) || isParameter(node);
  for (const y of node.outputs) names.set(y, named ? leafName(y) : `%${names.size}`);
}

function showNode(node: Node, names: ReadonlyMap<Tensor, string>): string {
  const outputs = node.outputs.map((y) => names.get(y)).join(", ");
  const inputs = node.inputs.map((x) => names.get(x)).join(", ");
  const attributes = Object.entries(node.attributes).map(([name, value]) => `${name}: ${showAttribute(value)}`);
  const { flops, bytes } = nodeCost(node);
  const call = `${node.op.name}(${inputs})${attributes.length > 0 ? ` {${attributes.join(", ")}}` : ""}`;
  return `${outputs} = ${call} : ${node.outputs.map((y) => showType(y.type)).join(", ")}   ${amount(flops)} flops, ${amount(bytes)} bytes`;
}

function showAttribute(value: Attribute): string {
  if (value instanceof Dim) return `${value}`;
  if (ArrayBuffer.isView(value))
    return value.length <= 4 ? `[${Array.from(value as Iterable<unknown>).join(", ")}]` : `${value.length} numbers`;
  if (Array.isArray(value)) return `[${value.map(showAttribute).join(", ")}]`;
  return `${value}`;
}

/** 1.5M, or the formula where sizes are open. */
function amount(dim: Dim): string {
  const { value } = dim;
  if (value === undefined) return dim.expression;
  for (const [unit, size] of [
    ["G", 1e9],
    ["M", 1e6],
    ["k", 1e3],
  ] as const)
    if (value >= size) return `${(value / size).toFixed(1)}${unit}`;
  return `${value}`;
}
