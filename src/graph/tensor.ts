import type { DType } from "../base/arrays.ts";
import type { Dim } from "./dim.ts";
import type { Attributes, Op } from "./op.ts";
import type { Place } from "./place.ts";
import { showType, type TensorType } from "./type.ts";

/** One application of an op: where it was written, its inputs, its attributes, and the tensors that it gives. Never changes. */
export interface Node<A extends Attributes = Attributes> extends Place {
  readonly op: Op;
  readonly inputs: readonly Tensor[];
  readonly attributes: A;
  readonly outputs: readonly Tensor[];
  /** Counts nodes as they are made. A node is always younger than its inputs. */
  readonly serial: number;
}

/** A symbolic tensor: one output of a node. Numbers appear only when a compiled function runs. */
export class Tensor<A extends Attributes = Attributes> {
  readonly node: Node<A>;
  readonly index: number;
  readonly type: TensorType;

  constructor(node: Node<A>, index: number, type: TensorType) {
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

/**
 * All nodes that the given tensors depend on, in the order in which they were made: each after its inputs, and each gradient
 * beside the others of its layer, so that memory is free again soon.
 */
export function topological(roots: readonly Tensor[]): Node[] {
  const found = new Set(roots.map((root) => root.node));
  for (const node of found) for (const x of node.inputs) found.add(x.node); // a Set hands out what is added while it is read
  return [...found].sort((a, b) => a.serial - b.serial);
}
