import type { Dim } from "../graph/dim.ts";
import type { Emitter, Value } from "../graph/emitter.ts";

/** ONNX Runtime has OneHot for float32 only; float64 is cast from it. */
export function oneHot(e: Emitter, ids: Value, depth: Dim, axis: number, dtype: string, off: number, on: number): Value {
  const size = e.node("Cast", [e.dims([depth])], { to: e.typeNumber("int32") });
  if (dtype === "float32") return e.node("OneHot", [ids, size, e.constant("float32", [2], Float32Array.of(off, on))], { axis });
  const hot = e.node("OneHot", [ids, size, e.constant("float32", [2], Float32Array.of(0, 1))], { axis });
  const scaled = e.node("Mul", [e.node("Cast", [hot], { to: e.typeNumber("float64") }), e.scalar("float64", on - off)]);
  return e.node("Add", [scaled, e.scalar("float64", off)]);
}
