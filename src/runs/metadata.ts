import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { diskError, systemCode } from "../training/disk.ts";
import { parseSafetensorsHeader, safetensorsHeaderBytes } from "../weights/safetensors-header.ts";

/** A weights file's metadata, without its numbers; undefined if there is no such file. */
export function readSafetensorsMetadata(file: string): ReadonlyMap<string, string> | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, "r");
    const bytes = fstatSync(descriptor).size;
    const start = new Uint8Array(8);
    readSync(descriptor, start, 0, 8, 0);
    const header = new Uint8Array(safetensorsHeaderBytes(start, bytes, file));
    readSync(descriptor, header, 0, header.length, 0);
    return parseSafetensorsHeader(header, bytes, file).metadata;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw diskError(error, file, "read");
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
