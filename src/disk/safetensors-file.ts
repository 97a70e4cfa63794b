import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { FormatError } from "../base/errors.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";
import { checkParameters } from "../weights/load.ts";
import { hostDTypes, tensorOf } from "../weights/safetensors.ts";
import { parseSafetensorsHeader, type SafetensorsHeader, safetensorsHeaderBytes, type TensorPlace } from "../weights/safetensors-header.ts";
import type { Weights } from "../weights/weights.ts";
import { diskError, systemCode } from "./files.ts";

/** What a weights file says of itself, without its numbers; undefined if there is no such file. */
export function readSafetensorsHeader(file: string): SafetensorsHeader | undefined {
  return withFile(file, (descriptor) => {
    const bytes = fstatSync(descriptor).size;
    const start = readRange(descriptor, 0, 8);
    return parseSafetensorsHeader(readRange(descriptor, 0, safetensorsHeaderBytes(start, bytes, file)), bytes, file);
  });
}

/**
 * Weights where they lie, which must be exactly those of a model; only the header is read. The engine reads 32-bit numbers from the file
 * itself, so that they are not in memory twice; numbers of 16 bits are turned into ours when they are asked for.
 */
export function weightsInFile(file: string, layout: ParameterLayout, header = readSafetensorsHeader(file)): Weights {
  if (!header) throw new FormatError(`${file}: there is no such file`);
  const kinds = [...header.tensors].map(([name, { dtype, shape }]) => [name, { dtype: hostDTypes[dtype], shape }] as const);
  checkParameters(layout, new Map(kinds), file);
  const placeOf = (name: string) => header.tensors.get(name) as TensorPlace;
  const numbers = (name: string): Float32Array => {
    const place = placeOf(name);
    return tensorOf(place, readPlace(file, header.headerBytes + place.begin, place.end - place.begin)).data as Float32Array;
  };
  let buffer: ParameterBuffer | undefined;
  return {
    folder: dirname(resolve(file)),
    numbers,
    source: (name) =>
      placeOf(name).dtype === "F32"
        ? { kind: "external", file: basename(file), offset: header.headerBytes + placeOf(name).begin }
        : { kind: "inline", data: numbers(name) },
    get buffer() {
      buffer ??= filled(new ParameterBuffer(layout), numbers);
      return buffer;
    },
  };
}

function filled(buffer: ParameterBuffer, numbers: (name: string) => Float32Array): ParameterBuffer {
  for (const { name, offset } of buffer.layout.entries) buffer.data.set(numbers(name), offset);
  return buffer;
}

/** Bytes of a file from a place on. */
const readPlace = (file: string, at: number, length: number): Uint8Array =>
  withFile(file, (descriptor) => readRange(descriptor, at, length)) ?? new Uint8Array(0);

function withFile<Result>(file: string, read: (descriptor: number) => Result): Result | undefined {
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

function readRange(descriptor: number, at: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let done = 0;
  while (done < length) {
    const read = readSync(descriptor, bytes, done, Math.min(length - done, 2 ** 28), at + done); // one call reads less than 2 GiB
    if (read === 0) return bytes.subarray(0, done);
    done += read;
  }
  return bytes;
}
