import { FeedError } from "./errors.ts";

export type DType = "float32" | "float64" | "int32" | "int64" | "uint8" | "bool";
export type FloatType = "float32" | "float64";

const constructors = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  bool: Uint8Array,
} as const;

export type TypedArray = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array;

/** Numbers on the host, in row-major order. The container never changes; the numbers in `data` may. */
export interface HostArray {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: TypedArray;
}

export const isFloat = (dtype: DType): dtype is FloatType => dtype === "float32" || dtype === "float64";
export const bytesPerElement = (dtype: DType): number => constructors[dtype].BYTES_PER_ELEMENT;
export const elementCount = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** Zeros, of one dtype or another. */
export const emptyArray = (dtype: DType, length: number): TypedArray => new constructors[dtype](length);

export const isArrayOf = (data: unknown, dtype: DType): boolean => constructors[dtype] !== undefined && data instanceof constructors[dtype];

type Nested = number | boolean | readonly Nested[];

/** A host array from nested lists, `array("int32", [[1, 2], [3, 4]])`, or from a flat list or typed array and a shape. */
export function array(dtype: DType, values: Nested | TypedArray, shape?: readonly number[]): HostArray {
  if (ArrayBuffer.isView(values)) {
    const data = values instanceof constructors[dtype] ? values : fill(dtype, Array.from(values, Number));
    return wellShaped({ dtype, shape: shape ?? [data.length], data });
  }
  return wellShaped({ dtype, shape: shape ?? nestedShape(values), data: fill(dtype, flatten(values)) });
}

function flatten(values: Nested): number[] {
  return typeof values === "number" || typeof values === "boolean" ? [Number(values)] : values.flatMap(flatten);
}

function fill(dtype: DType, numbers: readonly number[]): TypedArray {
  const data = emptyArray(dtype, numbers.length);
  if (data instanceof BigInt64Array) {
    const fraction = numbers.find((value) => !Number.isSafeInteger(value));
    if (fraction !== undefined) throw new FeedError(`${fraction} is not a whole number, as int64 wants`);
    for (let i = 0; i < numbers.length; i++) data[i] = BigInt(numbers[i]);
  } else data.set(numbers);
  return data;
}

function nestedShape(values: Nested): number[] {
  if (typeof values === "number" || typeof values === "boolean") return [];
  const [first = [], ...others] = values.map(nestedShape);
  const ragged = others.find((shape) => shape.join() !== first.join());
  if (ragged) throw new FeedError(`the rows of an array must be alike: one has the shape [${first}] and another [${ragged}]`);
  return [values.length, ...first];
}

function wellShaped(result: HostArray): HostArray {
  if (!result.shape.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    throw new FeedError(`a shape is made of whole numbers from 0 on, not [${result.shape.join(", ")}]`);
  }
  const wanted = elementCount(result.shape);
  if (result.data.length !== wanted) {
    throw new FeedError(`an array of shape [${result.shape.join(", ")}] holds ${wanted} numbers, but ${result.data.length} were given`);
  }
  return result;
}
