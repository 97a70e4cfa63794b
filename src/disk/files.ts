import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { QkvError, RunError } from "../base/errors.ts";
import { atOnce } from "../base/turns.ts";

/** So much goes down to the disk at a time: more would hold the thread, and from 2 GiB on the system and Node refuse. */
const largestCall = 2 ** 24;

/** Whole or absent: a temporary file beside it, fsynced, renamed over it, and the folder fsynced. */
export const writeDurably = (file: string, content: readonly Uint8Array[] | string): void => atOnce(writingDurably(file, content));

/** The same as work that can be left between two pieces. */
export function* writingDurably(file: string, content: readonly Uint8Array[] | string): Generator<void, void> {
  const parts = typeof content === "string" ? [new TextEncoder().encode(content)] : content;
  const temporary = join(dirname(file), `.${basename(file)}.${process.pid}.tmp`);
  try {
    yield* writingSynced(temporary, parts);
    renameSync(temporary, file);
    syncFolder(dirname(file));
  } catch (error) {
    removeQuietly(temporary);
    throw diskError(error, file, `write ${megabytes(parts)} to`);
  }
}

/**
 * Makes a folder and those above it, one by one: Node's own way hides why a disk refuses (a read-only one is "no such folder"), and
 * never comes back from one like /proc. Gives back those that were not there, the innermost first.
 */
export function makeFolders(folder: string): string[] {
  const missing: string[] = [];
  for (let at = resolve(folder); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const [i, name] of missing.entries()) {
    try {
      mkdirSync(name);
    } catch (error) {
      if (systemCode(error) === "EEXIST") continue; // somebody else was faster
      removeEmpty(missing.slice(0, i).reverse());
      throw error;
    }
  }
  if (!statSync(folder).isDirectory()) mkdirSync(folder); // a file stands there, and the system says so
  return missing.reverse();
}

/** Removes folders as long as they are empty. */
export function removeEmpty(folders: readonly string[]): void {
  try {
    for (const folder of folders) rmdirSync(folder);
  } catch {
    // something lies in it, so it stays, and so do those around it
  }
}

/** Removes what a killed `writeDurably` left in a folder. */
export function removeTemporaries(folder: string): void {
  try {
    for (const name of readdirSync(folder)) if (/^\..+\.\d+\.tmp$/.test(name)) rmSync(join(folder, name), { force: true });
  } catch (error) {
    throw diskError(error, folder, "clean up");
  }
}

/** A new file, down to the disk. `between` is called before each part. */
export const writeSynced = (file: string, parts: Iterable<Uint8Array>, between?: () => void): void =>
  atOnce(writingSynced(file, parts, between));

/** The same as work that can be left between two pieces, each of which is on the disk by then. */
export function* writingSynced(file: string, parts: Iterable<Uint8Array>, between: () => void = () => {}): Generator<void, void> {
  const handle = openSync(file, "w");
  let written = 0;
  try {
    for (const part of parts) {
      between();
      for (let at = 0; at < part.length; ) {
        const count = writeSync(handle, part, at, Math.min(part.length - at, largestCall));
        at += count;
        written += count;
        if (written < largestCall) continue;
        fsyncSync(handle);
        written = 0;
        yield;
      }
    }
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/**
 * Gives a file's bytes to `visit` in pieces, each valid only until the next, as work that can be left between two of them. Anything but a
 * plain file is refused: a pipe would wait.
 */
export function* readPieces(file: string, visit: (piece: Uint8Array, at: number) => void): Generator<void, void> {
  const stat = statSync(file);
  if (!stat.isFile()) throw new RunError(`${file} is not a plain file`);
  const handle = openSync(file, "r");
  try {
    const piece = new Uint8Array(Math.min(stat.size, 2 ** 22));
    for (let at = 0; at < stat.size; ) {
      const count = readSync(handle, piece, 0, piece.length, at);
      if (count === 0) throw new RunError(`${file} became shorter while it was read`);
      visit(piece.subarray(0, count), at);
      at += count;
      yield;
    }
  } finally {
    closeSync(handle);
  }
}

const hashes = new Map<string, string>();

/** The SHA-256 of files, one after the other. It is computed once for as long as they stay the same. */
export function filesHash(files: readonly string[]): string {
  const stamps = files.map((file) => ({ file: resolve(file), ...statSync(file) }));
  const key = stamps.map(({ file, ino, size, mtimeMs }) => `${file} ${ino} ${size} ${mtimeMs}`).join("\n");
  const known = hashes.get(key);
  if (known !== undefined) return known;
  const hash = createHash("sha256");
  for (const file of files) atOnce(readPieces(file, (piece) => hash.update(piece)));
  const found = hash.digest("hex");
  hashes.set(key, found);
  return found;
}

/** Makes the names in a folder durable. Windows cannot open a folder, and some network disks refuse to sync one. */
export function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } catch (error) {
    if (systemCode(error) !== "EINVAL") throw error;
  } finally {
    closeSync(handle);
  }
}

export function removeQuietly(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // The failure that led here is the one to tell.
  }
}

export const byteLength = (parts: readonly Uint8Array[]): number => parts.reduce((total, part) => total + part.length, 0);
export const megabytes = (parts: readonly Uint8Array[]): string => `${(byteLength(parts) / 1e6).toFixed(1)} MB`;

/** What the system's answer means, and a cure. */
const meanings: ReadonlyMap<string, string> = new Map([
  ["ENOSPC", "the disk is full; free some space"],
  ["EDQUOT", "your share of the disk is used up; free some space"],
  ["EFBIG", "the file is larger than this disk allows; choose a folder on another one"],
  ["EROFS", "the disk is read-only; choose a folder on another one"],
  ["EACCES", "you have no permission; change it with chmod, or choose another folder"],
  ["EPERM", "the system does not permit it; choose another folder"],
  ["ENOTDIR", "a part of this path is a file, not a folder; move it away, or choose another folder"],
  ["EISDIR", "a folder stands where a file should be; move it away"],
  ["EEXIST", "something with this name is there already; move it away"],
  ["ENOTEMPTY", "a folder that is not empty stands in the way; move it away"],
  ["ENOENT", "there is no such file or folder; check the path"],
  ["ENAMETOOLONG", "the name is too long; choose a shorter one"],
  ["ELOOP", "its symbolic links lead in a circle; remove one of them"],
  ["EMFILE", "too many files are open; raise the limit with ulimit -n"],
  ["ENFILE", "too many files are open on this machine; close some programs"],
  ["EBUSY", "another program is using it; close that program"],
  ["EIO", "the disk reports an error; check it, or choose a folder on another one"],
]);

/** A failure of the disk as one sentence that ends with the cure. What did not come from the disk is thrown on as it is. */
export function diskError(error: unknown, path: string, doing: string): QkvError {
  if (error instanceof QkvError) return error;
  const code = systemCode(error);
  if (code === undefined) throw error;
  const meaning = meanings.get(code) ?? `the system answered ${code}`;
  return new RunError(`could not ${doing} ${path}: ${meaning}`, { code: "run.disk", cause: error });
}

/** "ENOSPC" and the like, for errors of system calls only. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("syscall" in error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

export function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM"; // alive, and somebody else's
  }
}
