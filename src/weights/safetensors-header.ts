import { FormatError } from "../base/errors.ts";
import { HeaderScanner, shown } from "./header-scanner.ts";

/** Bytes for each number of the dtypes that are read; F16 and BF16 become float32. */
export const dtypeBytes = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, U8: 1, BOOL: 1 } as const;
export type FileDType = keyof typeof dtypeBytes;

/** Where a tensor lies in the file: bytes from `begin` to before `end`, counted from the end of the header. */
export interface TensorPlace {
  readonly dtype: FileDType;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

export interface SafetensorsHeader {
  /** Where the data starts: the eight bytes of the length, and the header. */
  readonly headerBytes: number;
  readonly metadata: ReadonlyMap<string, string>;
  readonly tensors: ReadonlyMap<string, TensorPlace>;
}

export const metadataKey = "__metadata__";
/** The bound of the reference implementation. */
export const largestHeader = 100_000_000;

/** The bytes to read before `parseSafetensorsHeader`: eight and the header's length, which stands in the first eight. */
export function safetensorsHeaderBytes(start: Uint8Array, fileBytes: number, where: string): number {
  if (fileBytes < 8 || start.length < 8) {
    throw new FormatError(`${where}: ${Math.min(fileBytes, start.length)} bytes are too few for a safetensors file, which has at least 10`);
  }
  const length = new DataView(start.buffer, start.byteOffset, 8).getBigUint64(0, true);
  if (length > BigInt(largestHeader)) {
    throw new FormatError(`${where}: a header of ${length} bytes is announced, and at most 100 MB are read; is this a safetensors file?`);
  }
  if (8 + Number(length) > fileBytes) {
    throw new FormatError(`${where}: a header of ${length} bytes is announced, and the file has only ${fileBytes}; it was cut short`);
  }
  return 8 + Number(length);
}

/** Checks everything that can be known before the data: `bytes` is at least the eight and the header, `fileBytes` the size of the file. */
export function parseSafetensorsHeader(bytes: Uint8Array, fileBytes: number, where: string): SafetensorsHeader {
  const headerBytes = safetensorsHeaderBytes(bytes, fileBytes, where);
  if (bytes.length < headerBytes) {
    throw new FormatError(`${where}: the header takes ${headerBytes} bytes, and ${bytes.length} could be read`);
  }
  const text = decoded(bytes.subarray(8, headerBytes), where);
  if (text[0] !== "{") throw new FormatError(`${where}: the header of a safetensors file starts with "{", not ${shown(text.slice(0, 1))}`);
  const metadata = new Map<string, string>();
  const tensors = new Map<string, TensorPlace>();
  const scanner = new HeaderScanner(text, where);
  scanner.object("the header", (name) => {
    if (name === metadataKey) scanner.object("the metadata", (key) => metadata.set(key, scanner.string(`the metadata ${shown(key)}`)));
    else tensors.set(name, tensorPlace(scanner, name, where));
  });
  scanner.end();
  checkCover(tensors, fileBytes - headerBytes, where);
  return { headerBytes, metadata, tensors };
}

function decoded(bytes: Uint8Array, where: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new FormatError(`${where}: the header is not UTF-8 text`, { cause });
  }
}

function tensorPlace(scanner: HeaderScanner, name: string, where: string): TensorPlace {
  const tensor = `tensor ${shown(name)}`;
  const at = `${where}: ${tensor}`;
  let dtype: string | undefined;
  let shape: number[] | undefined;
  let offsets: number[] | undefined;
  scanner.object(tensor, (key) => {
    if (key === "dtype") dtype = scanner.string(`the dtype of ${tensor}`);
    else if (key === "shape") shape = scanner.wholes(`the shape of ${tensor}`);
    else if (key === "data_offsets") offsets = scanner.wholes(`data_offsets of ${tensor}`);
    else throw new FormatError(`${at} has the key ${shown(key)}; only dtype, shape and data_offsets are known`);
  });
  if (dtype === undefined || shape === undefined || offsets === undefined) {
    const missing = dtype === undefined ? "dtype" : shape === undefined ? "shape" : "data_offsets";
    throw new FormatError(`${at} has no ${missing}`);
  }
  if (!isFileDType(dtype)) {
    throw new FormatError(`${at} has the dtype ${shown(dtype)}; those that are read are ${Object.keys(dtypeBytes).join(", ")}`);
  }
  const [begin, end] = offsets;
  if (offsets.length !== 2 || begin > end) {
    throw new FormatError(`${at} has the data_offsets ${shownList(offsets)}; a begin and an end not before it were wanted`);
  }
  const wanted = byteCount(shape, dtype, at);
  if (end - begin !== wanted) {
    throw new FormatError(`${at} has ${end - begin} bytes, and ${dtype} of shape ${shownList(shape)} takes ${wanted}`);
  }
  return { dtype, shape, begin, end };
}

const isFileDType = (name: string): name is FileDType => Object.hasOwn(dtypeBytes, name);

function byteCount(shape: readonly number[], dtype: FileDType, at: string): number {
  let bytes: number = dtypeBytes[dtype];
  for (const size of shape) {
    bytes *= size;
    if (!Number.isSafeInteger(bytes)) throw new FormatError(`${at} of shape ${shownList(shape)} takes more than 2^53 bytes`);
  }
  return bytes;
}

const shownList = (numbers: readonly number[]): string => `[${numbers.slice(0, 10).join(", ")}${numbers.length > 10 ? ", …" : ""}]`;

/** Tensors lie one after the other: a gap could hide something, and an overlap would make two of them one. */
function checkCover(tensors: ReadonlyMap<string, TensorPlace>, dataBytes: number, where: string): void {
  let covered = 0;
  const inOrder = [...tensors].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
  for (const [name, { begin, end }] of inOrder) {
    if (begin !== covered) {
      const problem = begin < covered ? "overlaps another" : "leaves a gap";
      throw new FormatError(`${where}: tensor ${shown(name)} begins at byte ${begin} of the data and ${problem}; ${covered} was wanted`);
    }
    covered = end;
  }
  if (covered > dataBytes) {
    throw new FormatError(`${where}: the tensors take ${covered} bytes, and the file has ${dataBytes} after its header; it was cut short`);
  }
  if (covered < dataBytes) {
    throw new FormatError(`${where}: ${dataBytes - covered} bytes follow the last tensor, and the file should end there`);
  }
}
