import { isFloat } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import { copyNode } from "../graph/cleanup.ts";
import { isLeaf, isParameter, leafName } from "../graph/leaves.ts";
import { atPlace } from "../graph/place.ts";
import { type Node, type Tensor, topological } from "../graph/tensor.ts";
import { showType } from "../graph/type.ts";
import { after } from "../ops/after.ts";
import { add } from "../ops/arithmetic.ts";
import { onesLike, zerosLike } from "../ops/fill.ts";

export interface GradOptions {
  /** What to do with a tensor that the loss does not depend on: an error that names it, or zeros. */
  readonly unused?: "error" | "zero";
  /** The group of a node whose values are not kept for the way back: all of a group is computed again when its gradients are. */
  readonly again?: (node: Node) => string | undefined;
  /** Whether what a node saves for its own gradient, and gives to nobody else, is computed again from what came into it. */
  readonly savesAgain?: (node: Node) => boolean;
}

/** The derivatives of a scalar with respect to tensors, as more graph: reverse mode, one sweep from the loss back. */
export function grad(loss: Tensor, of: readonly Tensor[], options: GradOptions = {}): Tensor[] {
  const { unused = "error", again = () => undefined, savesAgain = () => false } = options;
  if (!isFloat(loss.dtype)) throw new GraphError(`the gradient of ${show(loss)} does not exist: a loss must be float32 or float64`);
  if (loss.rank > 0)
    throw new GraphError(
      `the gradient of ${show(loss)} is not one number per parameter: reduce the loss to a scalar first, with sum or mean`,
    );
  for (const x of of) {
    if (!isFloat(x.dtype))
      throw new GraphError(`the gradient with respect to ${show(x)} does not exist: only float32 and float64 tensors have one`);
  }
  const order = topological([loss]);
  const needed = dependents(order, of);
  const gradients = new Map<Tensor, Tensor>([[loss, atPlace(loss.node, () => onesLike(loss))]]);
  const groups = groupsOf(order, again);
  const made = new Map<string, ReadonlyMap<Tensor, Tensor>>(); // of a group, what stands for its values on the way back
  for (const node of order.reverse()) {
    if (!needed.has(node)) continue;
    const group = again(node);
    const late = node.outputs.map((y) => gradients.get(y)).find((g) => g !== undefined);
    if (group !== undefined && late && !made.has(group)) made.set(group, computedAgain(groups.get(group) ?? [], needed, late));
    const copies = group === undefined ? (late && savesAgain(node) ? savedAgain(node, needed, late) : undefined) : made.get(group);
    atPlace(node, () => sweep(node, needed, gradients, copies));
  }
  return of.map((x) => {
    const g = gradients.get(x);
    if (!g && unused === "error") {
      throw new GraphError(`the loss does not depend on ${show(x)}; leave it out, or ask for zeros with { unused: "zero" }`);
    }
    return g ?? zerosLike(x);
  });
}

/** The nodes through which the given tensors can reach the loss; nothing else needs a gradient. */
function dependents(order: readonly Node[], of: readonly Tensor[]): Set<Node> {
  const found = new Set(of.map((x) => x.node));
  for (const node of order) {
    if (node.inputs.some((x) => found.has(x.node))) found.add(node);
  }
  return found;
}

function groupsOf(order: readonly Node[], again: NonNullable<GradOptions["again"]>): Map<string, Node[]> {
  const groups = new Map<string, Node[]>();
  for (const node of order) {
    const group = again(node);
    if (group === undefined || isLeaf(node)) continue;
    groups.set(group, [...(groups.get(group) ?? []), node]);
  }
  return groups;
}

/** Copies of nodes, from what came into them, that wait for the gradient of what came out of them: until then nothing of theirs is in memory. */
function computedAgain(nodes: readonly Node[], needed: ReadonlySet<Node>, late: Tensor): Map<Tensor, Tensor> {
  const own = new Set(nodes);
  const copies = new Map<Tensor, Tensor>();
  const copyOf = (x: Tensor): Tensor => {
    const found = copies.get(x);
    if (found) return found;
    if (own.has(x.node) || isLeaf(x.node) || !needed.has(x.node) || x.dtype !== late.dtype) return x;
    const waiting = atPlace(x.node, () => after(x, late));
    copies.set(x, waiting);
    return waiting;
  };
  for (const node of nodes) {
    const outputs = copyNode(node, node.inputs.map(copyOf));
    for (const [i, y] of node.outputs.entries()) copies.set(y, outputs[i]);
  }
  return copies;
}

/** What stands for the saved outputs of one node on the way back; of its copy nothing else is used, and so computed. */
function savedAgain(node: Node, needed: ReadonlySet<Node>, late: Tensor): Map<Tensor, Tensor> {
  const copies = computedAgain([node], needed, late);
  const saved = node.outputs.slice(node.outputs.length - (node.op.saved ?? 0));
  return new Map(saved.map((y) => [y, copies.get(y) as Tensor]));
}

function sweep(node: Node, needed: ReadonlySet<Node>, gradients: Map<Tensor, Tensor>, copies?: ReadonlyMap<Tensor, Tensor>): void {
  const grads = node.outputs.map((y) => gradients.get(y));
  const first = grads.find((g) => g !== undefined);
  if (!first || node.inputs.length === 0) return;
  const wanted = node.inputs.map((x) => needed.has(x.node) && isFloat(x.dtype));
  if (!wanted.includes(true)) return;
  if (!node.op.vjp) {
    throw new GraphError(
      `${node.scope ? `at ${node.scope}: ` : ""}${node.op.name} has no gradient, and the loss depends on it; keep it out of the loss`,
    );
  }
  const { inputs, outputs, attributes } = node;
  if (grads.slice(outputs.length - (node.op.saved ?? 0)).some((g) => g !== undefined)) {
    throw new GraphError(
      `${node.scope ? `at ${node.scope}: ` : ""}${node.op.name} can be differentiated once only: its gradient rule reuses values that carry no gradient`,
    );
  }
  const kept = (x: Tensor) => copies?.get(x) ?? x;
  const values = { inputs: inputs.map(kept), outputs: outputs.map(kept) };
  const results = node.op.vjp({ ...values, attributes, grads, g: grads[0] ?? zerosLike(outputs[0]) });
  for (const [i, x] of inputs.entries()) {
    const g = results[i];
    if (!g || !wanted[i]) continue;
    const sum = gradients.get(x);
    gradients.set(x, sum ? add(sum, g) : g);
  }
}

const show = (x: Tensor): string => (isParameter(x) ? `the parameter "${leafName(x)}" (${showType(x.type)})` : `${x}`);
