import type { GgufMetadata } from "../../src/weights/gguf.ts";
import { ggufBytes, type WrittenType } from "../../src/weights/gguf-types.ts";
import { ggufHeader, ggufPadding } from "../../src/weights/gguf-write.ts";
import { joined } from "./safetensors-files.ts";

export interface OutTensor {
  readonly type: WrittenType;
  readonly shape: readonly number[];
  readonly numbers: Float32Array;
}

/** A whole file in memory. */
export function ggufFile(metadata: GgufMetadata, tensors: ReadonlyMap<string, OutTensor>): Uint8Array {
  const { bytes } = ggufHeader(metadata, tensors);
  const data = [...tensors.values()].flatMap(({ type, numbers }) => {
    const written = ggufBytes(numbers, type);
    return [written, ggufPadding(written.length)];
  });
  return joined([bytes, ...data]);
}
