import type { DType } from "../base/arrays.ts";
import type { Dim } from "./dim.ts";
import type { Attributes, Op } from "./op.ts";
import { showType, type TensorType } from "./type.ts";

/** One application of an op: its inputs, its attributes, and the tensors that it gives. Never changes. */
export interface Node {
  readonly op: Op;
  readonly inputs: readonly Tensor[];
  readonly attributes: Attributes;
  readonly outputs: readonly Tensor[];
  /** Where in the model it was written, such as `block.2/attention`. */
  readonly scope: string;
}

/** A symbolic tensor: one output of a node. Numbers appear only when a compiled function runs. */
export class Tensor {
  readonly node: Node;
  readonly index: number;
  readonly type: TensorType;

  constructor(node: Node, index: number, type: TensorType) {
    this.node = node;
    this.index = index;
    this.type = type;
  }

  get dtype(): DType {
    return this.type.dtype;
  }

  get shape(): readonly Dim[] {
    return this.type.shape;
  }

  get rank(): number {
    return this.type.shape.length;
  }

  toString(): string {
    return `${this.node.op.name}: ${showType(this.type)}`;
  }
}

/** All nodes that the given tensors depend on, each after its inputs. */
export function topological(roots: readonly Tensor[]): Node[] {
  const order: Node[] = [];
  const seen = new Set<Node>();
  for (const root of roots) {
    const stack: { node: Node; next: number }[] = seen.has(root.node) ? [] : [{ node: root.node, next: 0 }];
    seen.add(root.node);
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      if (top.next === top.node.inputs.length) {
        order.push(top.node);
        stack.pop();
        continue;
      }
      const child = top.node.inputs[top.next++].node;
      if (!seen.has(child)) {
        seen.add(child);
        stack.push({ node: child, next: 0 });
      }
    }
  }
  return order;
}
