import { bytesPerElement, type DType, elementCount, type HostArray } from "../base/arrays.ts";
import { FormatError } from "../base/errors.ts";
import { halfValues } from "./half.ts";
import { isWellFormed, shown } from "./header-scanner.ts";
import {
  type FileDType,
  dtypeBytes as fileBytes,
  largestHeader,
  metadataKey,
  parseSafetensorsHeader,
  type TensorPlace,
} from "./safetensors-header.ts";

// The safetensors format: eight bytes with the header's length, a header in JSON, and then the numbers, little-endian.

const fileDTypes: Record<DType, FileDType> = { float32: "F32", float64: "F64", int32: "I32", int64: "I64", uint8: "U8", bool: "BOOL" };

/** What the numbers of a file become here. */
export const hostDTypes: Record<FileDType, DType> = {
  F32: "float32",
  F16: "float32",
  BF16: "float32",
  F64: "float64",
  I32: "int32",
  I64: "int64",
  U8: "uint8",
  BOOL: "bool",
};

/** The parts of a file, to be written one after the other. The data is not copied: later changes of a tensor would be seen. */
export function safetensorsParts(
  tensors: Iterable<readonly [name: string, HostArray]>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array[] {
  const names = new Set([metadataKey]);
  for (const text of Object.entries(metadata).flat()) refuseHalves(text);
  const entries = Object.keys(metadata).length > 0 ? [`"${metadataKey}":${JSON.stringify(metadata)}`] : [];
  const parts: Uint8Array[] = [];
  let begin = 0;
  for (const [name, { dtype, shape, data }] of tensors) {
    if (names.has(name))
      throw new FormatError(`a safetensors file cannot have two tensors called ${shown(name)}, nor one "${metadataKey}"`);
    refuseHalves(name);
    if (data.byteLength !== elementCount(shape) * bytesPerElement(dtype)) {
      throw new FormatError(`tensor ${shown(name)} has ${data.length} numbers, and ${dtype} of shape [${shape.join(", ")}] was announced`);
    }
    names.add(name);
    const end = begin + data.byteLength;
    // Written by hand, since an object would put a name such as "7" first and lose "__proto__".
    entries.push(`${JSON.stringify(name)}:${JSON.stringify({ dtype: fileDTypes[dtype], shape, data_offsets: [begin, end] })}`);
    parts.push(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    begin = end;
  }
  return [...headerParts(`{${entries.join(",")}}`), ...parts];
}

/** A tensor whose numbers come when it is their turn to be written. */
export interface LateTensor {
  readonly name: string;
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  bytes(): Uint8Array;
}

/** The same as `safetensorsParts`, tensor by tensor: no more than one of them is made at a time. */
export function* safetensorsStream(tensors: readonly LateTensor[], metadata: Readonly<Record<string, string>>): Generator<Uint8Array> {
  let begin = 0;
  const entries = tensors.map(({ name, dtype, shape }) => {
    const end = begin + elementCount(shape) * fileBytes[dtype];
    const entry = `${JSON.stringify(name)}:${JSON.stringify({ dtype, shape, data_offsets: [begin, end] })}`;
    begin = end;
    return entry;
  });
  yield* headerParts(`{${[`"${metadataKey}":${JSON.stringify(metadata)}`, ...entries].join(",")}}`);
  for (const { name, dtype, shape, bytes } of tensors) {
    const made = bytes();
    if (made.length !== elementCount(shape) * fileBytes[dtype])
      throw new FormatError(`tensor ${shown(name)} has ${made.length} bytes, and ${dtype} of shape [${shape.join(", ")}] was announced`);
    yield made;
  }
}

function refuseHalves(text: string): void {
  if (!isWellFormed(text)) throw new FormatError(`the text ${shown(text)} has half a surrogate pair, which UTF-8 cannot hold`);
}

/** Spaces at the end bring the data to a multiple of eight, so that it can be read in place. */
function headerParts(json: string): Uint8Array[] {
  const text = new TextEncoder().encode(json);
  const header = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(0x20);
  if (header.length > largestHeader)
    throw new FormatError(`a safetensors header takes at most 100 MB, and this one ${header.length} bytes`);
  header.set(text);
  const length = new DataView(new ArrayBuffer(8));
  length.setBigUint64(0, BigInt(header.length), true);
  return [new Uint8Array(length.buffer), header];
}

export interface Safetensors {
  readonly metadata: ReadonlyMap<string, string>;
  readonly tensors: ReadonlyMap<string, HostArray>;
}

/** All tensors of a file: views onto its bytes where their alignment allows, copies else. F16 and BF16 become float32. */
export function readSafetensors(bytes: Uint8Array, where: string): Safetensors {
  const { headerBytes, metadata, tensors } = parseSafetensorsHeader(bytes, bytes.length, where);
  const arrays = new Map<string, HostArray>();
  for (const [name, place] of tensors) {
    const array = tensorOf(place, bytes.subarray(headerBytes + place.begin, headerBytes + place.end));
    if (array.dtype === "bool" && array.data.some((value) => Number(value) > 1)) {
      throw new FormatError(`${where}: tensor ${shown(name)} is BOOL and has bytes that are neither 0 nor 1`);
    }
    arrays.set(name, array);
  }
  return { metadata, tensors: arrays };
}

/** One tensor from its own bytes. */
export function tensorOf({ dtype, shape }: TensorPlace, bytes: Uint8Array): HostArray {
  switch (dtype) {
    case "F32":
      return { dtype: "float32", shape, data: viewOf(Float32Array, bytes) };
    case "F64":
      return { dtype: "float64", shape, data: viewOf(Float64Array, bytes) };
    case "I32":
      return { dtype: "int32", shape, data: viewOf(Int32Array, bytes) };
    case "I64":
      return { dtype: "int64", shape, data: viewOf(BigInt64Array, bytes) };
    case "U8":
      return { dtype: "uint8", shape, data: viewOf(Uint8Array, bytes) };
    case "BOOL":
      return { dtype: "bool", shape, data: viewOf(Uint8Array, bytes) };
    case "F16":
      return { dtype: "float32", shape, data: halves(viewOf(Uint16Array, bytes)) };
    case "BF16":
      return { dtype: "float32", shape, data: brains(viewOf(Uint16Array, bytes)) };
  }
}

/** By a table of all that there are: a billion of them take seconds, not minutes. */
function halves(bits: Uint16Array): Float32Array {
  const values = halfValues();
  const numbers = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) numbers[i] = values[bits[i]];
  return numbers;
}

interface ArrayType<T> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): T;
}

function viewOf<T>(Type: ArrayType<T>, bytes: Uint8Array): T {
  const aligned = bytes.byteOffset % Type.BYTES_PER_ELEMENT === 0 ? bytes : new Uint8Array(bytes); // the constructor copies
  return new Type(aligned.buffer, aligned.byteOffset, bytes.length / Type.BYTES_PER_ELEMENT);
}

/** bfloat16 is the upper half of a float32. */
function brains(bits: Uint16Array): Float32Array {
  const whole = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) whole[i] = bits[i] << 16;
  return new Float32Array(whole.buffer);
}
