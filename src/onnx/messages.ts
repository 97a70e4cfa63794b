import { create } from "@bufbuild/protobuf";
import type { DType } from "../base/arrays.ts";
import type { OnnxAttribute } from "../graph/emitter.ts";
import type { TensorType } from "../graph/type.ts";
import { type AttributeProto, AttributeProtoSchema, type GraphProto, type ValueInfoProto, ValueInfoProtoSchema } from "./onnx_pb.ts";

// Small protobuf messages: attributes of nodes, types of values.

export const elementTypes: Record<DType, number> = { float32: 1, uint8: 2, int32: 6, int64: 7, bool: 9, float64: 11 };

export function attributeProto(name: string, value: OnnxAttribute): AttributeProto {
  if (typeof value === "number") return create(AttributeProtoSchema, { name, type: 2, i: BigInt(value) });
  if (typeof value === "string") return create(AttributeProtoSchema, { name, type: 3, s: new TextEncoder().encode(value) });
  if ("float" in value) return create(AttributeProtoSchema, { name, type: 1, f: value.float });
  return create(AttributeProtoSchema, { name, type: 7, ints: value.map(BigInt) });
}

/** A graph inside a node: what a loop repeats. */
export const bodyProto = (g: GraphProto): AttributeProto => create(AttributeProtoSchema, { name: "body", type: 5, g });

export function valueInfo(name: string, type: TensorType): ValueInfoProto {
  const dim = type.shape.map((d) => ({
    value:
      d.value === undefined ? { case: "dimParam" as const, value: d.expression } : { case: "dimValue" as const, value: BigInt(d.value) },
  }));
  return create(ValueInfoProtoSchema, {
    name,
    type: { value: { case: "tensorType", value: { elemType: elementTypes[type.dtype], shape: { dim } } } },
  });
}
