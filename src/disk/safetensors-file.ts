import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { parseSafetensorsHeader, type SafetensorsHeader, safetensorsHeaderBytes } from "../weights/safetensors-header.ts";
import { diskError, systemCode } from "./files.ts";

/** What a weights file says of itself, without its numbers; undefined if there is no such file. */
export function readSafetensorsHeader(file: string): SafetensorsHeader | undefined {
  return withFile(file, (descriptor) => {
    const bytes = fstatSync(descriptor).size;
    const start = readRange(descriptor, 0, 8);
    return parseSafetensorsHeader(readRange(descriptor, 0, safetensorsHeaderBytes(start, bytes, file)), bytes, file);
  });
}

/** Bytes of a file from a place on. */
export const readPlace = (file: string, at: number, length: number): Uint8Array =>
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
    const read = readSync(descriptor, bytes, done, length - done, at + done);
    if (read === 0) return bytes.subarray(0, done);
    done += read;
  }
  return bytes;
}
