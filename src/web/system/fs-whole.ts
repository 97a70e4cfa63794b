import { mounted } from "../storage/mounted.ts";
import type { Flags } from "../storage/open-files.ts";
import { SystemError } from "../storage/system-error.ts";

// What Node's fs does with whole files and whole folders.

type Encoding = "utf8" | "utf-8";

const largestPiece = 2 ** 24;

function withFile<Result>(path: string, flags: Flags, work: (descriptor: number) => Result): Result {
  const { files } = mounted();
  const descriptor = files.open(path, flags);
  try {
    return work(descriptor);
  } finally {
    files.close(descriptor);
  }
}

export function readFileSync(path: string, options: Encoding | { readonly encoding: Encoding }): string;
export function readFileSync(path: string): Uint8Array;
export function readFileSync(path: string, options?: Encoding | { readonly encoding: Encoding }): string | Uint8Array {
  const bytes = withFile(path, "r", (descriptor) => {
    const { system, files } = mounted();
    const all = new Uint8Array(system.facts(files.node(descriptor, "fstat")).size);
    const count = files.read(descriptor, all, 0);
    return all.subarray(0, count);
  });
  return options === undefined ? bytes : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes); // a mark at the beginning stays, as in Node
}

export function writeFileSync(path: string, content: string | Uint8Array, { flag = "w" }: { readonly flag?: Flags } = {}): void {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  withFile(path, flag, (descriptor) => mounted().files.write(descriptor, bytes, null));
}

export const appendFileSync = (path: string, content: string | Uint8Array): void => writeFileSync(path, content, { flag: "a" });

export function copyFileSync(from: string, to: string): void {
  const { system, files } = mounted();
  const source = system.find(from, "copyfile");
  if (source.kind === "folder") throw new SystemError("EISDIR", "copyfile", from, to);
  if (existing(to) === source) return; // under another of its names
  withFile(from, "r", (source) =>
    withFile(to, "w", (target) => {
      const piece = new Uint8Array(largestPiece);
      for (let count = files.read(source, piece, null); count > 0; count = files.read(source, piece, null))
        files.write(target, piece.subarray(0, count), null);
    }),
  );
}

function existing(path: string) {
  try {
    return mounted().system.find(path, "stat");
  } catch {
    return undefined;
  }
}

export interface ReadOptions {
  readonly highWaterMark?: number;
  /** Both ends belong to it. */
  readonly start?: number;
  readonly end?: number;
}

/** The pieces of a file, each in memory of its own. */
export const createReadStream = (path: string, options: ReadOptions = {}): AsyncIterable<Uint8Array> => piecesOf(path, options);

async function* piecesOf(
  path: string,
  { highWaterMark = 2 ** 16, start = 0, end = Number.POSITIVE_INFINITY }: ReadOptions,
): AsyncGenerator<Uint8Array> {
  const { files } = mounted();
  const descriptor = files.open(path, "r");
  try {
    for (let at = start; at <= end; ) {
      const piece = new Uint8Array(Math.min(highWaterMark, end + 1 - at));
      const count = files.read(descriptor, piece, at);
      if (count === 0) return;
      at += count;
      yield piece.subarray(0, count);
    }
  } finally {
    files.close(descriptor);
  }
}

export interface RemoveOptions {
  readonly recursive?: boolean;
  readonly force?: boolean;
}

export function rmSync(path: string, { recursive = false, force = false }: RemoveOptions = {}): void {
  const { system } = mounted();
  let kind: "file" | "folder";
  try {
    kind = system.find(path, "lstat").kind;
  } catch (error) {
    if (force && error instanceof SystemError && error.code === "ENOENT") return;
    throw error;
  }
  if (kind === "file") system.unlink(path);
  else if (recursive) {
    for (const [name] of system.names(path)) rmSync(`${path}/${name}`, { recursive });
    system.removeFolder(path);
  } else
    throw Object.assign(new Error(`Path is a directory: rm returned EISDIR (is a directory) ${path}`), {
      code: "ERR_FS_EISDIR",
      syscall: "rm",
      path,
    });
}

/** A new folder whose name begins like this. */
export function mkdtempSync(start: string): string {
  const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  for (;;) {
    const end = [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => letters[byte % letters.length]).join("");
    try {
      mounted().system.makeFolder(`${start}${end}`);
      return `${start}${end}`;
    } catch (error) {
      if (!(error instanceof SystemError) || error.code !== "EEXIST") throw error;
    }
  }
}
