import { FormatError } from "../base/errors.ts";
import {
  aligned,
  byteCount,
  defaultAlignment,
  type GgufMetadata,
  type GgufNumberType,
  type GgufValue,
  numberTypes,
  valueTypes,
} from "./gguf.ts";
import { ggufTypes, type WrittenType } from "./gguf-types.ts";
import { isWellFormed, shown } from "./header-scanner.ts";

/** A tensor to be written: its numbers are asked for when their turn comes. */
export interface GgufOut {
  readonly type: WrittenType;
  readonly shape: readonly number[];
}

/** The bytes before the numbers, and where each tensor begins, counted from their end. */
export function ggufHeader(
  metadata: GgufMetadata,
  tensors: ReadonlyMap<string, GgufOut>,
): {
  readonly bytes: Uint8Array;
  readonly places: ReadonlyMap<string, { readonly begin: number; readonly end: number }>;
  readonly dataBytes: number;
} {
  const out = new Writer();
  out.raw(new TextEncoder().encode("GGUF"));
  out.number("uint32", 3);
  out.number("uint64", tensors.size);
  out.number("uint64", metadata.size);
  for (const [key, value] of metadata) {
    out.string(key);
    writeValue(out, value);
  }
  const places = new Map<string, { begin: number; end: number }>();
  let begin = 0;
  for (const [name, { type, shape }] of tensors) {
    out.string(name);
    out.number("uint32", shape.length);
    for (const size of [...shape].reverse()) out.number("uint64", size);
    out.number("uint32", ggufTypes[type].id);
    out.number("uint64", begin);
    const end = begin + byteCount(type, shape, `tensor ${shown(name)}`);
    places.set(name, { begin, end });
    begin = aligned(end, defaultAlignment);
  }
  out.raw(new Uint8Array(aligned(out.length, defaultAlignment) - out.length));
  return { bytes: out.bytes(), places, dataBytes: begin };
}

/** Zeros after a tensor, up to the next. */
export const ggufPadding = (bytes: number): Uint8Array => new Uint8Array(aligned(bytes, defaultAlignment) - bytes);

function writeValue(out: Writer, given: GgufValue): void {
  out.number("uint32", valueTypes.indexOf(given.type));
  if (given.type === "string") out.string(given.value);
  else if (given.type === "bool") out.number("uint8", Number(given.value));
  else if (given.type !== "array") out.number(given.type, given.value);
  else {
    out.number("uint32", valueTypes.indexOf(given.of));
    out.number("uint64", given.value.length);
    if (given.of === "string") for (const item of given.value) out.string(item);
    else if (given.of === "bool") for (const item of given.value) out.number("uint8", Number(item));
    else for (const item of given.value) out.number(given.of, item);
  }
}

class Writer {
  #bytes = new Uint8Array(65_536);
  #view = new DataView(this.#bytes.buffer);
  length = 0;

  raw(bytes: Uint8Array): void {
    const at = this.#grow(bytes.length);
    this.#bytes.set(bytes, at);
  }

  string(text: string): void {
    if (!isWellFormed(text)) throw new FormatError(`the text ${shown(text)} has half a surrogate pair, which UTF-8 cannot hold`);
    const bytes = new TextEncoder().encode(text);
    this.number("uint64", bytes.length);
    this.raw(bytes);
  }

  number(type: GgufNumberType, value: number | bigint): void {
    const at = this.#grow(numberTypes[type]);
    const view = this.#view;
    if (type === "uint64") view.setBigUint64(at, BigInt(value), true);
    else if (type === "int64") view.setBigInt64(at, BigInt(value), true);
    else if (type === "float64") view.setFloat64(at, Number(value), true);
    else if (type === "float32") view.setFloat32(at, Number(value), true);
    else if (type === "uint32" || type === "int32")
      view.setUint32(at, Number(value), true); // the same bits with and without a sign
    else if (type === "uint16" || type === "int16") view.setUint16(at, Number(value), true);
    else view.setUint8(at, Number(value));
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  #grow(by: number): number {
    const at = this.length;
    this.length += by;
    if (this.length > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.length);
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}
