import { FormatError } from "../base/errors.ts";
import { type GgufTypeName, ggufTypeNames, ggufTypeOf, ggufTypes } from "./gguf-types.ts";
import { shown } from "./header-scanner.ts";

// GGUF, the format of llama.cpp: four letters, the version and two counts; metadata, each a key, a type and a value; for each tensor its name,
// shape, type and place; and then the numbers, each tensor at a multiple of the alignment. All of it is little-endian.

export const numberTypes = {
  uint8: 1,
  int8: 1,
  uint16: 2,
  int16: 2,
  uint32: 4,
  int32: 4,
  float32: 4,
  uint64: 8,
  int64: 8,
  float64: 8,
} as const;
export type GgufNumberType = keyof typeof numberTypes;

/** The types of values in the order of their numbers. */
export const valueTypes = [
  "uint8",
  "int8",
  "uint16",
  "int16",
  "uint32",
  "int32",
  "float32",
  "bool",
  "string",
  "array",
  "uint64",
  "int64",
  "float64",
] as const;
type ItemType = Exclude<(typeof valueTypes)[number], "array">;

/** Whole numbers of 64 bits beyond 2^53 are bigints. */
export type GgufValue =
  | { readonly type: GgufNumberType; readonly value: number | bigint }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "array"; readonly of: "string"; readonly value: readonly string[] }
  | { readonly type: "array"; readonly of: "bool"; readonly value: readonly boolean[] }
  | { readonly type: "array"; readonly of: GgufNumberType; readonly value: readonly (number | bigint)[] };

/** What a file says of its model, by key: general.architecture, llama.block_count, tokenizer.ggml.tokens … */
export type GgufMetadata = ReadonlyMap<string, GgufValue>;

/** Where a tensor lies, and as what. */
export interface GgufTensor {
  readonly type: GgufTypeName;
  /** The outermost size first, as everywhere here; the file has them the other way round. */
  readonly shape: readonly number[];
  /** Bytes of the file, counted from its beginning. */
  readonly begin: number;
  readonly end: number;
}

/** A file that is read but for its numbers. */
export interface Gguf {
  readonly metadata: GgufMetadata;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
}

/** A file that can be read in places. `read` gives fewer bytes only where the file ends. */
export interface ByteSource {
  readonly size: number;
  read(at: number, length: number): Uint8Array;
}

export const inMemory = (bytes: Uint8Array): ByteSource => ({
  size: bytes.length,
  read: (at, length) => bytes.subarray(at, at + length),
});

/** Metadata and places take a few megabytes for the largest vocabularies. */
const largestHeader = 2 ** 28;
export const defaultAlignment = 32;
/** What ggml can hold. */
const mostDimensions = 4;
const longestKey = 65_535;

/**
 * Everything of a file but the numbers of its tensors: `file` is its bytes, or what reads it in places, and `where` what errors call it.
 * Nothing is allocated by what the file claims before that much of it has been read, in pieces.
 */
export function parseGguf(file: Uint8Array | ByteSource, where: string, piece: number = 2 ** 20): Gguf {
  const source = file instanceof Uint8Array ? inMemory(file) : file;
  const cursor = new Cursor(source, where, piece);
  const { tensors: tensorCount, values } = readCounts(cursor, source, where);
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < values; i++) {
    const key = cursor.string("a key of the metadata", longestKey);
    if (metadata.has(key)) throw cursor.error(`the metadata has the key ${shown(key)} twice`);
    metadata.set(key, readValue(cursor, `the metadata ${shown(key)}`));
  }
  const alignment = alignmentOf(metadata, where);
  const tensors = new Map<string, GgufTensor>();
  for (let i = 0; i < tensorCount; i++) {
    const name = cursor.string("the name of a tensor", longestKey);
    if (tensors.has(name)) throw cursor.error(`there are two tensors called ${shown(name)}`);
    tensors.set(name, readPlace(cursor, name, alignment, where));
  }
  const data = aligned(cursor.at, alignment);
  const placed = new Map([...tensors].map(([name, tensor]) => [name, { ...tensor, begin: data + tensor.begin, end: data + tensor.end }]));
  checkPlaces(placed, source.size, where);
  return { metadata, tensors: placed };
}

/** The numbers of a tensor from its own bytes, those of the file from `begin` to `end`; blocks of rounded ones become what they stand for. */
export function ggufNumbers({ type, shape }: Pick<GgufTensor, "type" | "shape">, bytes: Uint8Array): Float32Array {
  const into = new Float32Array(shape.reduce((product, size) => product * size, 1));
  ggufTypes[type].read(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), into);
  return into;
}

function readCounts(cursor: Cursor, source: ByteSource, where: string): { tensors: number; values: number } {
  const letters = source.read(0, 4);
  if (String.fromCharCode(...letters) !== "GGUF")
    throw new FormatError(`${where}: a GGUF file begins with the letters GGUF, and this one does not`);
  cursor.at = 4;
  const version = cursor.number("uint32", "the version");
  if (version !== 2 && version !== 3) {
    const cure = version === 1 ? "; make it again with a newer llama.cpp" : ""; // big-endian files have 3 in the uppermost byte
    throw new FormatError(`${where}: the versions of GGUF that are read are 2 and 3 (little-endian), and this file says ${version}${cure}`);
  }
  const tensors = cursor.count("tensors", 24); // a name's length, the number of dimensions, a type and an offset
  const values = cursor.count("values of metadata", 13); // a key's length, a type and a byte
  return { tensors, values };
}

function readValue(cursor: Cursor, what: string): GgufValue {
  const type = valueType(cursor, what);
  if (type === "array") return readArray(cursor, what);
  if (type === "string") return { type, value: cursor.string(what) };
  if (type === "bool") return { type, value: cursor.boolean(what) };
  return { type, value: cursor.number(type, what) };
}

function readArray(cursor: Cursor, what: string): GgufValue {
  const of = valueType(cursor, `the items of ${what}`);
  if (of === "array") throw cursor.error(`${what} is a list of lists, which no model has`);
  const length = cursor.count(`items of ${what}`, of === "string" ? 8 : of === "bool" ? 1 : numberTypes[of]);
  const items = <T>(read: () => T): T[] => {
    const value: T[] = [];
    for (let i = 0; i < length; i++) value.push(read());
    return value;
  };
  if (of === "string") return { type: "array", of, value: items(() => cursor.string(what)) };
  if (of === "bool") return { type: "array", of, value: items(() => cursor.boolean(what)) };
  return { type: "array", of, value: items(() => cursor.number(of, what)) };
}

function valueType(cursor: Cursor, what: string): ItemType | "array" {
  const number = Number(cursor.number("uint32", `the type of ${what}`));
  const type = valueTypes[number];
  if (type === undefined) throw cursor.error(`${what} has the type ${number}, and there are 0 to ${valueTypes.length - 1}`);
  return type;
}

function alignmentOf(metadata: GgufMetadata, where: string): number {
  const given = metadata.get("general.alignment");
  if (given === undefined) return defaultAlignment;
  const { value } = given;
  if (typeof value !== "number" || value < 1 || value > 2 ** 20 || !Number.isInteger(Math.log2(value)))
    throw new FormatError(`${where}: general.alignment is a power of two up to 2^20, not ${shown(String(value))}`);
  return value;
}

function readPlace(cursor: Cursor, name: string, alignment: number, where: string): GgufTensor {
  const what = `tensor ${shown(name)}`;
  const dimensions = Number(cursor.number("uint32", `the number of dimensions of ${what}`));
  if (dimensions > mostDimensions) throw cursor.error(`${what} has ${dimensions} dimensions, and there are at most ${mostDimensions}`);
  const shape = Array.from({ length: dimensions }, () => cursor.whole(`a size of ${what}`)).reverse();
  const found = ggufTypeOf(Number(cursor.number("uint32", `the type of ${what}`)));
  const begin = cursor.whole(`the offset of ${what}`);
  if ("other" in found) {
    const cure = "make the file again in one of them, with llama-quantize";
    throw new FormatError(`${where}: ${what} is of the type ${found.other}; those that are read are ${ggufTypeNames.join(", ")}; ${cure}`);
  }
  if (begin % alignment !== 0)
    throw cursor.error(`${what} begins at byte ${begin} of the data, which is no multiple of the alignment ${alignment}`);
  return { type: found.name, shape, begin, end: begin + byteCount(found.name, shape, `${where}: ${what}`) };
}

/** `shape`: the innermost size last. */
export function byteCount(type: GgufTypeName, shape: readonly number[], at: string): number {
  const { block, bytes } = ggufTypes[type];
  const row = shape.at(-1) ?? 1;
  if (row % block !== 0) throw new FormatError(`${at} has rows of ${row} numbers, and ${type} wants a multiple of ${block}`);
  let count = (row / block) * bytes;
  for (const size of shape.slice(0, -1)) {
    count *= size;
    if (!Number.isSafeInteger(count)) break;
  }
  if (!Number.isSafeInteger(count)) throw new FormatError(`${at} of shape [${shape.join(", ")}] takes more than 2^53 bytes`);
  return count;
}

export const aligned = (at: number, alignment: number): number => Math.ceil(at / alignment) * alignment;

function checkPlaces(tensors: ReadonlyMap<string, GgufTensor>, fileBytes: number, where: string): void {
  let covered = 0;
  for (const [name, { begin, end }] of [...tensors].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end)) {
    if (begin < covered)
      throw new FormatError(`${where}: tensor ${shown(name)} begins at byte ${begin} and overlaps another, which ends at ${covered}`);
    if (end > fileBytes)
      throw new FormatError(`${where}: tensor ${shown(name)} ends at byte ${end}, and the file has ${fileBytes}; it was cut short`);
    covered = end;
  }
}

/** Reads values one after the other, never beyond the end of the file. */
class Cursor {
  at = 0;
  readonly #source: ByteSource;
  readonly #where: string;
  #start = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(new ArrayBuffer(0));
  readonly #piece: number;

  constructor(source: ByteSource, where: string, piece: number) {
    this.#piece = piece;
    this.#source = source;
    this.#where = where;
  }

  error(problem: string): FormatError {
    return new FormatError(`${this.#where}: ${problem} (before byte ${this.at})`);
  }

  number(type: GgufNumberType, what: string): number | bigint {
    const from = this.#take(numberTypes[type], what);
    const view = this.#view;
    switch (type) {
      case "uint8":
        return view.getUint8(from);
      case "int8":
        return view.getInt8(from);
      case "uint16":
        return view.getUint16(from, true);
      case "int16":
        return view.getInt16(from, true);
      case "uint32":
        return view.getUint32(from, true);
      case "int32":
        return view.getInt32(from, true);
      case "float32":
        return view.getFloat32(from, true);
      case "float64":
        return view.getFloat64(from, true);
      case "uint64":
        return asNumber(view.getBigUint64(from, true));
      case "int64":
        return asNumber(view.getBigInt64(from, true));
    }
  }

  boolean(what: string): boolean {
    const byte = this.number("uint8", what);
    if (byte !== 0 && byte !== 1) throw this.error(`${what} is true or false, 1 or 0, and ${byte} was found`);
    return byte === 1;
  }

  /** A size or an offset. */
  whole(what: string): number {
    const value = this.number("uint64", what);
    if (typeof value === "bigint") throw this.error(`${what} is ${value}, and a whole number below 2^53 was wanted`);
    return value;
  }

  /** How many of something follow, each of which takes at least so many bytes. */
  count(what: string, fewestBytes: number): number {
    const value = this.number("uint64", `the number of ${what}`);
    const left = Math.min(this.#source.size, largestHeader) - this.at;
    if (typeof value === "bigint" || value * fewestBytes > left) {
      throw this.error(`${value} ${what} are announced, and ${left} bytes are left for them; the file is damaged or was cut short`);
    }
    return value;
  }

  string(what: string, longest = largestHeader): string {
    const length = this.number("uint64", `the length of ${what}`);
    if (typeof length === "bigint" || length > longest)
      throw this.error(`${what} is announced with ${length} bytes, and at most ${longest} are read`);
    const from = this.#take(length, what);
    const text = decoded(this.#bytes.subarray(from, from + length));
    if (text === undefined) throw this.error(`${what} is not UTF-8 text`);
    return text;
  }

  /** Makes the next bytes readable; gives the place of the first in the window. */
  #take(length: number, what: string): number {
    const { at } = this;
    const end = at + length;
    if (end > this.#source.size)
      throw this.error(`${what} takes ${length} bytes, and the file has ${this.#source.size - at} more; it was cut short`);
    if (end > largestHeader) throw this.error(`metadata and names go on after ${largestHeader} bytes, which no model's do`);
    if (end > this.#start + this.#bytes.length) {
      this.#bytes = this.#source.read(at, Math.max(length, this.#piece));
      this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
      this.#start = at;
      if (this.#bytes.length < length) throw this.error(`${what} could not be read; the file became shorter`);
    }
    this.at = end;
    return at - this.#start;
  }
}

const asNumber = (value: bigint): number | bigint => {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
};

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
