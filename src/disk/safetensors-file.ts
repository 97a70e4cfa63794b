import { closeSync, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import type { HostArray } from "../base/arrays.ts";
import { FormatError, RunError } from "../base/errors.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";
import { checkParameters } from "../weights/load.ts";
import { hostDTypes, tensorOf } from "../weights/safetensors.ts";
import { parseSafetensorsHeader, type SafetensorsHeader, safetensorsHeaderBytes, type TensorPlace } from "../weights/safetensors-header.ts";
import type { Weights } from "../weights/weights.ts";
import { diskError, systemCode } from "./files.ts";

/** What a weights file says of itself, without its numbers; undefined if there is no such file. */
export const readSafetensorsHeader = (file: string): SafetensorsHeader | undefined => openHeader(file)?.header;

/** The header, and what tells the file from another one that takes its place later. */
function openHeader(file: string): { readonly header: SafetensorsHeader; readonly stamp: string } | undefined {
  return withFile(file, (descriptor) => {
    const stat = fstatSync(descriptor);
    const start = readRange(descriptor, 0, 8);
    const header = parseSafetensorsHeader(readRange(descriptor, 0, safetensorsHeaderBytes(start, stat.size, file)), stat.size, file);
    return { header, stamp: stampOf(stat) };
  });
}

export const stampOf = ({ ino, size, mtimeMs }: Stats): string => `${ino} ${size} ${mtimeMs}`;

/** A file of tensors, of which only the header is read until numbers are wanted. */
export interface TensorFile {
  readonly header: SafetensorsHeader;
  read(name: string): HostArray;
  /** Where its numbers begin in the file. */
  offset(name: string): number;
  /** Several readings with the file opened once. */
  all<Result>(work: (read: (name: string) => HostArray) => Result): Result;
}

/** A file that was replaced after this, as training does it, is refused when it is read: its numbers lie elsewhere. */
export function openTensorFile(file: string): TensorFile {
  const opened = openHeader(file);
  if (!opened) throw new FormatError(`${file}: there is no such file`);
  const { header, stamp } = opened;
  const placeOf = (name: string) => header.tensors.get(name) as TensorPlace;
  const changed = () =>
    new RunError(`${file} has changed since it was opened, so its numbers are not where they were; open it again`, { code: "run.changed" });
  const all = <Result>(work: (read: (name: string) => HostArray) => Result): Result => {
    const found = withFile(file, (descriptor) => {
      if (stampOf(fstatSync(descriptor)) !== stamp) throw changed();
      const read = (name: string): HostArray => {
        const place = placeOf(name);
        return tensorOf(place, readRange(descriptor, header.headerBytes + place.begin, place.end - place.begin));
      };
      return { value: work(read) };
    });
    if (!found) throw changed();
    return found.value;
  };
  return { header, all, read: (name) => all((read) => read(name)), offset: (name) => all(() => header.headerBytes + placeOf(name).begin) };
}

/**
 * Weights where they lie, which must be exactly those of a model; only the header is read. The engine reads 32-bit numbers from the file
 * itself, so that they are not in memory twice; numbers of 16 bits are turned into ours when they are asked for.
 */
export function weightsInFile(file: string, layout: ParameterLayout): Weights {
  const opened = openTensorFile(file);
  const { tensors } = opened.header;
  const kinds = [...tensors].map(([name, { dtype, shape }]) => [name, { dtype: hostDTypes[dtype], shape }] as const);
  checkParameters(layout, new Map(kinds), file);
  const numbers = (name: string) => opened.read(name).data as Float32Array;
  let buffer: ParameterBuffer | undefined;
  return {
    folder: dirname(resolve(file)),
    numbers,
    source: (name) =>
      tensors.get(name)?.dtype === "F32"
        ? ({ kind: "external", file: basename(file), offset: opened.offset(name) } as const)
        : { kind: "inline", data: numbers(name) },
    get buffer() {
      buffer ??= opened.all((read) => filled(new ParameterBuffer(layout), (name) => read(name).data as Float32Array));
      return buffer;
    },
  };
}

/** A flat buffer, parameter by parameter. */
export function filled(buffer: ParameterBuffer, numbers: (name: string) => Float32Array): ParameterBuffer {
  for (const { name, offset } of buffer.layout.entries) buffer.data.set(numbers(name), offset);
  return buffer;
}

export function withFile<Result>(file: string, read: (descriptor: number) => Result): Result | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, "r");
    return read(descriptor);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw diskError(error, file, "read");
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

export function readRange(descriptor: number, at: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let done = 0;
  while (done < length) {
    const read = readSync(descriptor, bytes, done, Math.min(length - done, 2 ** 28), at + done); // one call reads less than 2 GiB
    if (read === 0) return bytes.subarray(0, done);
    done += read;
  }
  return bytes;
}
