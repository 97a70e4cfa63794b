import type { FloatType, TypedArray } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import { Dim, type DimLike, sum } from "./dim.ts";
import type { Emitter, Value } from "./emitter.ts";
import { currentPlace, deeper, type Part, type Place } from "./place.ts";
import { type Node, Tensor } from "./tensor.ts";
import { byteSize, showType, size, type TensorType } from "./type.ts";

export type Attribute =
  | number
  | string
  | boolean
  | undefined
  | Dim
  | TypedArray
  | TensorType
  | readonly Attribute[]
  | { readonly [key: string]: Attribute };
export type Attributes = { readonly [name: string]: Attribute };

/** What one application costs: arithmetic, how much of it is inside products of matrices (2mnk each), and bytes read and written. */
export interface Cost {
  readonly flops: Dim;
  readonly products: Dim;
  readonly bytes: Dim;
}

/** A cost as an op declares it. What is left out: no products; each input read and each output written once; the part of the place. */
export interface DeclaredCost {
  readonly flops: DimLike;
  readonly products?: DimLike;
  readonly bytes?: DimLike;
  readonly part?: Part;
}

/** What an application costs a part of the model. */
export interface Share extends Cost {
  readonly part?: Part;
}

export interface Backward<A> {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** The gradient of the first output, which nearly every rule needs. */
  readonly g: Tensor;
  /** The gradients of all outputs; undefined where the loss does not depend on one. */
  readonly grads: readonly (Tensor | undefined)[];
  readonly attributes: A;
}

export interface Lowering<A> {
  readonly attributes: A;
  readonly inputs: readonly TensorType[];
  readonly outputs: readonly TensorType[];
}

export interface Simplification {
  /** The type that the op's output has. */
  readonly type: TensorType;
  /** Whether a tensor has no other use, so that it may be replaced rather than computed beside its replacement. */
  readonly usedOnce: (x: Tensor) => boolean;
}

/** What an example's input may hold. */
export type Domain = "real" | "positive" | "apart" | "boolean" | "byte" | { readonly below: DimLike };

export interface ExampleInput {
  readonly type: TensorType;
  readonly domain: Domain;
}

/**
 * An application that the laws try: open symbols in the types are bound to ordinary sizes, to 1 and to 0.
 * `nonEmpty` names symbols that cannot be 0 (the maximum of nothing).
 */
export interface Example<A> {
  readonly inputs: readonly ExampleInput[];
  readonly attributes: A;
  readonly nonEmpty?: readonly string[];
}

/** Everything that is known of an op, in one place. */
export interface OpDefinition<A extends Attributes> {
  /** The types of the outputs; throws a GraphError when the inputs do not fit. */
  type(inputs: readonly TensorType[], attributes: A): TensorType | readonly TensorType[];
  /** How many of the last outputs are kept only for the gradient rule. No gradient passes through them. */
  saved?: number;
  /** The gradient of each input, from the gradients of the outputs. Left out: no gradient passes. */
  vjp?(backward: Backward<A>): readonly (Tensor | undefined)[];
  /** What open sizes must be at run time, where the types alone cannot tell. */
  limits?(inputs: readonly TensorType[], attributes: A): readonly { readonly size: Dim; readonly atMost: Dim }[];
  /** Simpler tensors with the same values, if the inputs allow them; asked when a graph is cleaned up. */
  simplify?(inputs: readonly Tensor[], attributes: A, simplification: Simplification): Tensor | readonly Tensor[] | undefined;
  /** The output times a number, where that costs nothing more: a product's own scale. */
  scaled?(inputs: readonly Tensor[], attributes: A, factor: number, usedOnce: (x: Tensor) => boolean): Tensor | undefined;
  /** The output cut along its last axis, where computing the parts is no more work than the whole. */
  parts?(inputs: readonly Tensor[], attributes: A, sizes: readonly Dim[]): readonly Tensor[] | undefined;
  /** For an op that treats all positions before the last axis alike: how many of its first inputs have these positions. */
  rowwise?: { readonly inputs: number; readonly when: "always" | "fed by rows" };
  /** A loop along an axis: where a target has none, its length must be known. */
  scans?: true;
  /** For what is declared at a place, as a parameter is: it knows more exactly where it is used than the layer that is being built. */
  placed?: true;
  onnx(e: Emitter, inputs: readonly Value[], lowering: Lowering<A>): Value | readonly Value[];
  /** What it costs; an op that does the work of several parts of a model says what each of them costs. Left out: one operation for each number that it gives. */
  cost?(inputs: readonly TensorType[], outputs: readonly TensorType[], attributes: A): DeclaredCost | readonly DeclaredCost[];
  /** What the laws of all ops try it with. Left out: it is tried by nobody but its author, with `checkGradient`. */
  examples?(float: FloatType): readonly Example<A>[];
  /** Why the gradient law runs in float32 only: a kernel that the runtime lacks in float64. */
  float32Only?: string;
}

/** Tells the tensors and nodes of one op from all others; the attributes of those that it lets through are the op's own. */
export interface IsOf<A extends Attributes> {
  (x: Tensor): x is Tensor<A>;
  (node: Node): node is Node<A>;
}

export interface Op<A extends Attributes = Attributes> extends Omit<OpDefinition<A>, "cost" | "examples"> {
  readonly name: string;
  readonly is: IsOf<A>;
  /** Applies the op: checks the types and gives its outputs. */
  apply(inputs: readonly Tensor[], attributes: A): Tensor[];
  /** Applies an op that has one output. */
  one(inputs: readonly Tensor[], attributes: A): Tensor;
  cost(inputs: readonly TensorType[], outputs: readonly TensorType[], attributes: A): readonly Share[];
  examples(float: FloatType): readonly Example<A>[];
}

/** Every op that exists, by name: the laws run over all of them. */
export const allOps = new Map<string, Op>();

/** An op of one's own, or of qkv's: it is known by its name in graphs, costs and errors. */
export function defineOp<A extends Attributes = Attributes>(name: string, definition: OpDefinition<A>): Op<A> {
  const { cost = onePerNumber, examples = () => missingExamples(name) } = definition;
  if (allOps.has(name)) throw new GraphError(`there are two ops called "${name}"`);
  const op: Op<A> = {
    ...definition,
    name,
    is: ((x: Tensor | Node) => (x instanceof Tensor ? x.node.op : x.op) === (op as Op)) as IsOf<A>,
    apply: (inputs, attributes) => applyOp(op as Op, inputs, attributes),
    one: (inputs, attributes) => applyOp(op as Op, inputs, attributes)[0],
    cost: (inputs, outputs, attributes) =>
      [cost(inputs, outputs, attributes)].flat().map(({ flops, products = 0, bytes, part }) => ({
        flops: Dim.of(flops),
        products: Dim.of(products),
        bytes: Dim.of(bytes ?? sum([...inputs, ...outputs].map(byteSize))),
        part,
      })),
    examples,
  };
  allOps.set(name, op as Op);
  return op;
}

const onePerNumber = (_: readonly TensorType[], outputs: readonly TensorType[]): DeclaredCost => ({ flops: sum(outputs.map(size)) });

function missingExamples(name: string): never {
  throw new GraphError(`the op "${name}" declares no examples, and its laws are tried with them; give it \`examples\``);
}

function applyOp(op: Op, inputs: readonly Tensor[], attributes: Attributes): Tensor[] {
  const { scope: around, part } = currentPlace();
  const scope = inputs.reduce((path, x) => (x.node.op.placed ? deeper(path, x.node.scope) : path), around);
  let types: TensorType | readonly TensorType[];
  try {
    types = op.type(
      inputs.map((x) => x.type),
      attributes,
    );
  } catch (error) {
    if (!(error instanceof GraphError)) throw error;
    const found = inputs.map((x) => showType(x.type)).join(", ");
    throw new GraphError(`${scope ? `at ${scope}: ` : ""}${op.name}(${found}): ${error.message}`, { cause: error });
  }
  return makeNode(op, inputs, attributes, "dtype" in types ? [types] : types, { scope, part });
}

let made = 0;

/** A node with types that are known already, as when a graph is copied. */
export function makeNode<A extends Attributes>(
  op: Op,
  inputs: readonly Tensor[],
  attributes: A,
  types: readonly TensorType[],
  { scope, part }: Place,
): Tensor<A>[] {
  const outputs: Tensor<A>[] = [];
  const node: Node<A> = { op, inputs, attributes, outputs, scope, part, serial: made++ };
  for (const [index, type] of types.entries()) outputs.push(new Tensor(node, index, type));
  return outputs;
}
