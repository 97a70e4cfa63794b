import { createHash } from "node:crypto";
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, join } from "node:path";
import { DataError, NetworkError } from "../base/errors.ts";
import { diskError, syncFolder } from "../disk/files.ts";
import type { Home } from "./home.ts";
import type { GivenFile, JobEvent } from "./messages.ts";

// What a page is given is put into its storage first, and trained on from there: whoever goes on after a reload need not give it again.

export interface IntakeOptions {
  readonly home: Home;
  readonly signal: AbortSignal;
  listen(event: JobEvent): void;
}

/** Bytes that arrive, and what is known of them before. */
export interface Incoming {
  readonly name: string;
  readonly total?: number;
  readonly bytes: AsyncIterable<Uint8Array>;
}

let incomings = 0;

/** Puts a file into the storage, and gives its path. */
export async function stored(given: GivenFile, options: IntakeOptions): Promise<string> {
  const { data } = options.home;
  mkdirSync(data, { recursive: true });
  const incoming = await incomingOf(given, options.signal);
  const temporary = join(data, `.${process.pid}-${incomings++}.tmp`);
  try {
    const { sha256 } = await written(incoming, temporary, options);
    const folder = join(data, sha256.slice(0, 16));
    const path = join(folder, incoming.name);
    if (existsSync(path)) return path;
    mkdirSync(folder, { recursive: true });
    renameSync(temporary, path);
    syncFolder(folder);
    return path;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Writes what arrives to a file, down to the disk. */
export async function written(
  { name, total, bytes }: Incoming,
  path: string,
  { signal, listen }: IntakeOptions,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const hash = createHash("sha256");
  let count = 0;
  try {
    const file = openSync(path, "w");
    try {
      for await (const piece of bytes) {
        signal.throwIfAborted();
        hash.update(piece);
        for (let at = 0; at < piece.length; ) at += writeSync(file, piece, at, piece.length - at);
        count += piece.length;
        listen({ kind: "loading", file: name, bytes: count, ...(total !== undefined && { total }) });
      }
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw error instanceof Error && "syscall" in error ? diskError(error, path, "keep") : error;
  }
  return { sha256: hash.digest("hex"), bytes: count };
}

async function incomingOf(given: GivenFile, signal: AbortSignal): Promise<Incoming> {
  if ("file" in given) return ofBlob(given.file, given.name ?? given.file.name);
  if ("text" in given) return ofBlob(new Blob([given.text]), given.name ?? "text.txt");
  if ("rows" in given) return ofBlob(new Blob(given.rows.map((row) => `${JSON.stringify(row)}\n`)), "rows.jsonl");
  const found = await fetched(given.url, signal);
  if (!found)
    throw new NetworkError(`there is nothing at ${given.url} (status 404); check the address, or give a text itself as { text }`, {
      code: "network.missing",
    });
  return found;
}

/** Names come from outside: what is no letter, digit, dot or line becomes a line, and dots alone, which lead to other folders, are no name. */
export function safeName(name: string): string {
  const safe = basename(name).replace(/[^\p{L}\p{N}._-]+/gu, "-");
  return /^\.*$/.test(safe) ? "data" : safe;
}

export const ofBlob = (blob: Blob, name: string): Incoming => ({ name: safeName(name), total: blob.size, bytes: piecesOf(blob.stream()) });

/** What lies at an address, from where the page may ask; undefined if there is nothing. */
export async function fetched(
  url: string,
  signal: AbortSignal,
  cache: RequestCache = "default",
): Promise<(Incoming & { readonly response: Response }) | undefined> {
  let response: Response;
  try {
    response = await fetch(url, { signal, cache });
  } catch (cause) {
    signal.throwIfAborted();
    throw new NetworkError(
      `${url} cannot be reached (${cause instanceof Error ? cause.message : cause}); another origin must allow this page by CORS`,
      { cause },
    );
  }
  if (response.status === 404) return undefined;
  if (!response.ok || !response.body) throw new NetworkError(`${url} answers with status ${response.status}; check the address`);
  const length = Number(response.headers.get("content-length"));
  const total = length > 0 && !response.headers.has("content-encoding") ? { total: length } : {}; // else it is the length of what was packed
  return { name: safeName(new URL(url).pathname), ...total, bytes: piecesOf(response.body), response };
}

async function* piecesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause; // it was stopped
    throw new DataError(`the data broke off (${cause instanceof Error ? cause.message : cause}); give it again`, { cause });
  } finally {
    await reader.cancel().catch(() => {});
  }
}
