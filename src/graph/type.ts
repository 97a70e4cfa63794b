import { bytesPerElement, type DType } from "../base/arrays.ts";
import { GraphError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { Dim, type DimLike, numbers, product } from "./dim.ts";

/** What is known of a tensor before anything runs. */
export interface TensorType {
  readonly dtype: DType;
  readonly shape: readonly Dim[];
}

/** An axis by position (negative from the end) or by name. */
export type AxisRef = number | string;

export function tensorType(dtype: DType, shape: readonly DimLike[]): TensorType {
  const dims = shape.map((d) => Dim.of(d));
  for (const dim of dims) {
    if (dim.value !== undefined && !(Number.isSafeInteger(dim.value) && dim.value >= 0)) {
      throw new GraphError(`a dimension is a whole number from 0 on, not ${dim.value}, in [${dims.join(", ")}]`);
    }
  }
  return { dtype, shape: dims };
}

export const float32 = (shape: readonly DimLike[]): TensorType => tensorType("float32", shape);
export const float64 = (shape: readonly DimLike[]): TensorType => tensorType("float64", shape);
export const int32 = (shape: readonly DimLike[]): TensorType => tensorType("int32", shape);
export const int64 = (shape: readonly DimLike[]): TensorType => tensorType("int64", shape);
export const uint8 = (shape: readonly DimLike[]): TensorType => tensorType("uint8", shape);
export const bool = (shape: readonly DimLike[]): TensorType => tensorType("bool", shape);

export const showShape = (shape: readonly Dim[]): string => `[${shape.join(", ")}]`;
export const showType = (type: TensorType): string => `${type.dtype}${showShape(type.shape)}`;
export const size = (type: TensorType): Dim => product(type.shape);
export const byteSize = (type: TensorType): Dim => size(type).times(bytesPerElement(type.dtype));
export const sameShape = (a: readonly Dim[], b: readonly Dim[]): boolean => a.length === b.length && a.every((dim, i) => dim.equals(b[i]));
/** The shape as numbers, when no symbol is left open. */
export const concreteShape = (type: TensorType): number[] | undefined => numbers(type.shape);

/** The position of an axis, counted from 0. */
export function axisIndex(type: TensorType, axis: AxisRef): number {
  const { shape } = type;
  if (typeof axis === "string") {
    const names = shape.map((dim) => dim.name ?? (dim.value === undefined ? dim.expression : ""));
    const index = names.indexOf(axis);
    if (index < 0) throw new GraphError(`no axis "${axis}" in ${showShape(shape)}${suggest(axis, names)}`);
    if (names.lastIndexOf(axis) !== index) {
      throw new GraphError(`axis "${axis}" is there twice in ${showShape(shape)}; give its position instead`);
    }
    return index;
  }
  const index = axis < 0 ? axis + shape.length : axis;
  if (!Number.isInteger(axis) || index < 0 || index >= shape.length) {
    throw new GraphError(`no axis ${axis} in ${showShape(shape)}, which has ${shape.length} axes`);
  }
  return index;
}

/** The shape that two shapes broadcast to: aligned at the right, an axis of size 1 stretches. */
export function broadcastShapes(a: readonly Dim[], b: readonly Dim[]): Dim[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = a[i - rank + a.length];
    const y = b[i - rank + b.length];
    if (x === undefined || y === undefined) return x ?? y;
    if (x.equals(y)) return x.name ? x : y;
    if (x.value === 1) return y;
    if (y.value === 1) return x;
    throw new GraphError(`${showShape(a)} and ${showShape(b)} do not broadcast: ${x} against ${y}; sizes must be equal, or one of them 1`);
  });
}
