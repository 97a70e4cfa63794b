import { copyNode, rewrite } from "../graph/cleanup.ts";
import { product } from "../graph/dim.ts";
import type { Graph } from "../graph/graph.ts";
import { atPlace } from "../graph/place.ts";
import type { Node, Tensor } from "../graph/tensor.ts";
import { concreteShape, sameShape } from "../graph/type.ts";
import { isView, reshape } from "./movement.ts";

/**
 * Ops that treat every position alone work on rows [batch·time, width] instead of [batch, time, width]. A weight's gradient is a
 * product of such matrices, so without this every one of them would be reshaped on the way, and a small training step spends
 * several percent of its time in nodes that do nothing. Only for known sizes: an open shape would have to be computed.
 */
export function flattenRows(graph: Graph): Graph {
  return rewrite(graph, (node, inputs) =>
    atPlace(node, () => {
      const rows = rowInputs(node, inputs);
      if (!rows) return copyNode(node, inputs);
      return node.op.apply(rows, node.attributes).map((y, i) => reshape(y, node.outputs[i].shape));
    }),
  );
}

function rowInputs(node: Node, inputs: readonly Tensor[]): Tensor[] | undefined {
  const { rowwise } = node.op;
  const { type, shape, rank } = node.outputs[0];
  if (!rowwise || rank <= 2 || !concreteShape(type)) return undefined;
  const leading = shape.slice(0, -1);
  const isRows = (x: Tensor, i: number) => i < rowwise.inputs && x.rank === rank && sameShape(x.shape.slice(0, -1), leading);
  if (!inputs.every((x, i) => i >= rowwise.inputs || x.rank <= 1 || isRows(x, i))) return undefined;
  if (rowwise.when === "fed by rows" && !inputs.some((x, i) => isRows(x, i) && isOfRows(x))) return undefined;
  return inputs.map((x, i) => (isRows(x, i) ? reshape(sourceOf(x), [product(leading), x.shape[rank - 1]]) : x));
}

/** Whether rows were there before, and this is only their view. */
const isOfRows = (x: Tensor): boolean => isView(x) && x.node.inputs[0].rank === 2;
const sourceOf = (x: Tensor): Tensor => (isOfRows(x) ? x.node.inputs[0] : x);
