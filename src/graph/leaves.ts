import { array, type DType, type HostArray, type TypedArray } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import { defineOp, makeNode, type Op } from "./op.ts";
import type { Place } from "./place.ts";
import type { Node, Tensor } from "./tensor.ts";
import { type TensorType, tensorType } from "./type.ts";

/** How a parameter starts, as data; `weights/` turns it into numbers. */
export type Initialiser =
  | { readonly kind: "zeros" }
  | { readonly kind: "ones" }
  | { readonly kind: "filled"; readonly value: number }
  | { readonly kind: "normal"; readonly std: number }
  | { readonly kind: "uniform"; readonly bound: number };

export const zeros: Initialiser = { kind: "zeros" };
export const ones: Initialiser = { kind: "ones" };
export const filled = (value: number): Initialiser => ({ kind: "filled", value });
export const normal = (std: number): Initialiser => ({ kind: "normal", std });
export const uniform = (bound: number): Initialiser => ({ kind: "uniform", bound });

const free = { cost: () => ({ flops: 0, bytes: 0 }), examples: () => [] };
const fedFromOutside = (): never => {
  throw new Error("inputs and parameters are emitted as the model's inputs, not as nodes");
};

/** A value that is fed when the function runs; of noise that comes as flags, how many of 256 bytes are dropped. */
const inputOp = defineOp<{ name: string; type: TensorType; dropped?: number }>("input", {
  type: (_, { type }) => type,
  onnx: fedFromOutside,
  ...free,
});

type Declared = {
  readonly name: string;
  readonly type: TensorType;
  readonly initialiser: Initialiser;
  /** The rows of each, where a matrix is several, one above the other. */
  readonly stacked?: readonly number[];
};

/** A trained value: fed from the flat buffer while training, baked in for inference. */
export type Parameter = Tensor<Declared>;

const parameterOp = defineOp<Declared>("parameter", {
  type: (_, { type }) => type,
  placed: true,
  onnx: fedFromOutside,
  ...free,
});

const constantOp = defineOp<{ data: TypedArray; dtype: DType; shape: readonly number[] }>("constant", {
  type: (_, { dtype, shape }) => tensorType(dtype, shape),
  onnx: (e, _, { attributes: { dtype, shape, data } }) => e.constant(dtype, shape, data),
  ...free,
});

export function input(name: string, type: TensorType): Tensor {
  return inputOp.one([], { name, type });
}

/** Random bytes that are fed; where some are dropped, flags in their place: 1 for what stays. */
export const noiseInput = (name: string, type: TensorType, dropped?: number): Tensor =>
  inputOp.one([], { name, type, ...(dropped !== undefined && { dropped }) });

/** Of noise that comes as flags: how many of 256 bytes are dropped. */
export const droppedBy = ({ node }: Tensor): number | undefined => (inputOp.is(node) ? node.attributes.dropped : undefined);

export function parameter(
  name: string,
  type: TensorType,
  { initialiser, stacked }: Pick<Declared, "initialiser" | "stacked">,
  place: Place,
): Parameter {
  return makeNode(parameterOp as Op, [], { name, type, initialiser, ...(stacked && { stacked }) }, [type], place)[0];
}

/** Numbers that are part of the graph itself. */
export function constant(values: HostArray): Tensor {
  return constantOp.one([], { dtype: values.dtype, shape: values.shape, data: values.data });
}

/** One number, of the dtype of the tensor it will meet. */
export function scalar(value: number, dtype: DType): Tensor {
  return constant(array(dtype, value));
}

/** The number behind a constant scalar, if the tensor is one. */
export function scalarValue(x: Tensor): number | undefined {
  return isConstant(x) && x.rank === 0 ? Number(x.node.attributes.data[0]) : undefined;
}

export const isInput = inputOp.is;
export const isParameter = parameterOp.is;
export const isConstant = constantOp.is;

/** What a graph starts from, and need not compute. */
export const isLeaf = (node: Node): boolean => isInput(node) || isParameter(node) || isConstant(node);

/** The name that an input or a parameter was declared with. */
export function leafName(x: Tensor): string {
  if (isInput(x) || isParameter(x)) return x.node.attributes.name;
  throw new GraphError(`${x} is computed, so it has no name of its own; ask for that of an input or a parameter`);
}
