import type { DType, TypedArray } from "../base/arrays.ts";
import type { Dim } from "./dim.ts";
import type { Target } from "./target.ts";

/** The name of a value in the emitted model. An empty name stands for an optional input that is left out. */
export type Value = string;

export type OnnxAttribute = number | string | readonly number[] | { readonly float: number };

export interface NodeOptions {
  readonly domain?: "com.microsoft";
  readonly outputs?: number;
}

/** What an op's lowering may ask for. `onnx/` implements it. */
export interface Emitter {
  /** Who will run the model: `e.target.can("fused-products")`. */
  readonly target: Target;
  /** Adds a node with one output. Whole numbers become INT attributes, `{ float }` a FLOAT. */
  node(opType: string, inputs: readonly Value[], attributes?: Record<string, OnnxAttribute>, options?: NodeOptions): Value;
  /** Adds a node with several outputs. */
  nodes(
    opType: string,
    inputs: readonly Value[],
    attributes: Record<string, OnnxAttribute>,
    options: NodeOptions & { outputs: number },
  ): Value[];
  /** A constant tensor; equal constants are stored once. */
  constant(dtype: DType, shape: readonly number[], data: TypedArray): Value;
  scalar(dtype: DType, value: number): Value;
  /** A constant int64 vector. */
  integers(values: readonly number[]): Value;
  /** Dimensions as an int64 vector: a constant where all are known, else read off the shapes of the inputs. */
  dims(dims: readonly Dim[]): Value;
  /** A view of a value in another shape; there and back is the value itself. */
  reshape(x: Value, from: readonly Dim[], to: readonly Dim[]): Value;
  /** The declared ONNX type name of a dtype, for Cast. */
  typeNumber(dtype: DType): number;
}
