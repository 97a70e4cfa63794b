import type { DType } from "../base/arrays.ts";
import type { Emitter, Value } from "../graph/emitter.ts";

/** One-hot columns [depth, count] of int32 ids [count]: a comparison, split over threads, where ONNX's OneHot runs on one. */
export function oneHotColumns(e: Emitter, ids: Value, depth: number, dtype: DType): Value {
  const classes = e.constant(
    "int32",
    [depth, 1],
    Int32Array.from({ length: depth }, (_, i) => i),
  );
  return e.node("Cast", [e.node("Equal", [classes, ids])], { to: e.typeNumber(dtype) });
}
