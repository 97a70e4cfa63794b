import type { FloatType } from "../base/arrays.ts";
import type { DimLike } from "../graph/dim.ts";
import type { Domain, ExampleInput } from "../graph/op.ts";
import { tensorType } from "../graph/type.ts";

// The inputs of an op's examples, by what they may hold.

const floats =
  (domain: Domain) =>
  (float: FloatType, ...shape: DimLike[]): ExampleInput => ({ type: tensorType(float, shape), domain });

/** Any real number. */
export const real = floats("real");
/** Above zero, for logarithms and roots. */
export const positive = floats("positive");
/** All different and away from zero: for corners (relu) and ties (max), where finite differences mean nothing. */
export const apart = floats("apart");

export const ids = (below: DimLike, ...shape: DimLike[]): ExampleInput => ({ type: tensorType("int32", shape), domain: { below } });
export const booleans = (...shape: DimLike[]): ExampleInput => ({ type: tensorType("bool", shape), domain: "boolean" });
export const bytes = (...shape: DimLike[]): ExampleInput => ({ type: tensorType("uint8", shape), domain: "byte" });
/** 0 or 1, as bytes. */
export const flagged = (...shape: DimLike[]): ExampleInput => ({ type: tensorType("uint8", shape), domain: { below: 2 } });
