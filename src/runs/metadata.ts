import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { QkvError } from "../base/errors.ts";
import { parseSafetensorsHeader, safetensorsHeaderBytes } from "../weights/safetensors-header.ts";

/** A weights file's metadata, without its numbers; undefined if there is no such file, or it is damaged. */
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
    if (error instanceof QkvError || (error as { code?: string }).code === "ENOENT") return undefined;
    throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
