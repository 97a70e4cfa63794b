import type { DType, TypedArray } from "../base/arrays.ts";
import type { Dim } from "./dim.ts";
import type { Target } from "./target.ts";
import type { TensorType } from "./type.ts";

/** The name of a value in the emitted model. An empty name stands for an optional input that is left out. */
export type Value = string;

export type OnnxAttribute = number | string | readonly number[] | { readonly float: number };

export interface NodeOptions {
  readonly domain?: "com.microsoft";
  readonly outputs?: number;
}

/** Something that is done once for each position of the first axis, one after the other. All types are those of one step. */
export interface Loop {
  /** How often. */
  readonly time: Dim;
  /** From the last position to the first. */
  readonly backward: boolean;
  /** What each step hands to the next, and what the first is given. */
  readonly carry: readonly { readonly start: Value; readonly type: TensorType }[];
  /** What is read position by position. */
  readonly scanned: readonly { readonly value: Value; readonly type: TensorType }[];
  /** What each step gives besides. */
  readonly outputs: readonly TensorType[];
  /** Emits one step; whatever it does not get by argument is the same in all of them. */
  step(carry: readonly Value[], scanned: readonly Value[]): { readonly carry: readonly Value[]; readonly outputs: readonly Value[] };
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
  /** A loop: one operator where the target has it, or else all steps one after the other. Gives what is carried at the end, then what all steps gave. */
  loop(loop: Loop): Value[];
  /** The declared ONNX type name of a dtype, for Cast. */
  typeNumber(dtype: DType): number;
}
