import { mounted } from "../storage/mounted.ts";
import type { Flags } from "../storage/open-files.ts";
import { SystemError } from "../storage/system-error.ts";
import { type Dirent, direntOf, type Stats, statsOf } from "./fs-facts.ts";
import { resolve } from "./path.ts";

// What Node calls "node:fs", over the storage of a page: as much of it as the code of run folders uses, with the same answers.

export { appendFileSync, copyFileSync, createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from "./fs-whole.ts";
export type { Dirent, Stats };

export const openSync = (path: string, flags: Flags): number => mounted().files.open(path, flags);
export const closeSync = (descriptor: number): void => mounted().files.close(descriptor);
export const fsyncSync = (descriptor: number): void => mounted().files.sync(descriptor);
export const ftruncateSync = (descriptor: number, size = 0): void => mounted().files.truncate(descriptor, size);

/** Nothing is asked for nothing, as in Node: a file that is not open goes unnoticed. */
export const readSync = (descriptor: number, into: Uint8Array, offset: number, length: number, position: number | null): number =>
  length === 0 ? 0 : mounted().files.read(descriptor, into.subarray(offset, offset + length), position);

/** Bytes from an offset on, or a text; at a place of the file, or where it stopped. */
export function writeSync(descriptor: number, from: string, position?: number | null): number;
export function writeSync(descriptor: number, from: Uint8Array, offset?: number, length?: number, position?: number | null): number;
export function writeSync(
  descriptor: number,
  from: Uint8Array | string,
  offset?: number | null,
  length?: number,
  position: number | null = null,
): number {
  const { files } = mounted();
  if (typeof from === "string") return files.write(descriptor, new TextEncoder().encode(from), offset ?? null);
  const begin = offset ?? 0;
  return files.write(descriptor, from.subarray(begin, begin + (length ?? from.length - begin)), position);
}

export function existsSync(path: string): boolean {
  try {
    mounted().system.find(path, "access");
    return true;
  } catch {
    return false;
  }
}

export function statSync(path: string, options?: { readonly throwIfNoEntry?: true }): Stats;
export function statSync(path: string, options: { readonly throwIfNoEntry: false }): Stats | undefined;
export function statSync(path: string, { throwIfNoEntry = true }: { readonly throwIfNoEntry?: boolean } = {}): Stats | undefined {
  const { system } = mounted();
  try {
    return statsOf(system.facts(system.find(path, "stat")));
  } catch (error) {
    if (!throwIfNoEntry && error instanceof SystemError && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Of a link itself; here there are none. */
export const lstatSync = statSync;

export function fstatSync(descriptor: number): Stats {
  const { system, files } = mounted();
  return statsOf(system.facts(files.node(descriptor, "fstat")));
}

/** Gives back the outermost folder that was made, if `recursive`. */
export function mkdirSync(path: string, options: { readonly recursive: true }): string | undefined;
export function mkdirSync(path: string, options?: { readonly recursive?: false }): void;
export function mkdirSync(path: string, { recursive = false }: { readonly recursive?: boolean } = {}): string | undefined {
  const { system } = mounted();
  if (!recursive) {
    system.makeFolder(path);
    return undefined;
  }
  const names = path.split("/").filter((name) => name !== "");
  let first: string | undefined;
  for (let count = 1; count <= names.length; count++) {
    const part = `/${names.slice(0, count).join("/")}`;
    const found = statSync(part, { throwIfNoEntry: false });
    if (found?.isFile()) throw new SystemError(count < names.length || path.endsWith("/") ? "ENOTDIR" : "EEXIST", "mkdir", path);
    if (found !== undefined) continue;
    system.makeFolder(part);
    first ??= part;
  }
  return first;
}

export function readdirSync(path: string): string[];
export function readdirSync(path: string, options: { readonly withFileTypes: true; readonly recursive?: boolean }): Dirent[];
export function readdirSync(
  path: string,
  { withFileTypes = false, recursive = false }: { readonly withFileTypes?: boolean; readonly recursive?: boolean } = {},
): string[] | Dirent[] {
  const names = mounted().system.names(path);
  if (!withFileTypes) return names.map(([name]) => name);
  return names.flatMap(([name, node]) => {
    const inner = recursive && node.kind === "folder" ? readdirSync(`${path}/${name}`, { withFileTypes, recursive }) : [];
    return [direntOf(name, path, node.kind), ...inner];
  });
}

export const renameSync = (from: string, to: string): void => mounted().system.rename(from, to);
export const linkSync = (from: string, to: string): void => mounted().system.link(from, to);
export const unlinkSync = (path: string): void => mounted().system.unlink(path);
export const rmdirSync = (path: string): void => mounted().system.removeFolder(path);
export const realpathSync = (path: string): string => mounted().system.realPath(resolve(path)); // Node too goes by the path's words first

/** When it was read last is not kept. */
export const utimesSync = (path: string, _read: Date | number, modified: Date | number): void =>
  mounted().system.touch(path, typeof modified === "number" ? modified * 1000 : modified.getTime());

/** How much room is left: blocks, and bytes of one. */
export const statfsSync = (_path: string): { readonly bavail: number; readonly bsize: number } => ({
  bavail: Math.floor(mounted().free() / 4096),
  bsize: 4096,
});
