import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { RunError } from "../base/errors.ts";
import { byteLength, readPieces, systemCode } from "./files.ts";

export const manifestName = "manifest.json";
const largestManifest = 1_000_000;

/** Plain names: no folders, nothing hidden, nothing that means something to a system. */
const fileName = z
  .string()
  .regex(/^\w[\w.-]{0,199}$/)
  .refine((name) => name !== manifestName);
const whole = z.int().nonnegative();

const manifestSchema = z.object({
  version: z.literal(1),
  step: whole,
  files: z
    .array(z.object({ name: fileName, bytes: whole, sha256: z.string().regex(/^[0-9a-f]{64}$/) }))
    .refine((files) => new Set(files.map(({ name }) => name)).size === files.length, "two files have the same name"),
});

/** What a checkpoint holds, and how to tell that it is all there. */
export type Manifest = z.output<typeof manifestSchema>;
type FileEntry = Manifest["files"][number];

/** Hashes all of it, as work that can be left between two pieces. */
export function* manifestOf(step: number, files: ReadonlyMap<string, readonly Uint8Array[]>): Generator<void, Manifest> {
  const entries: FileEntry[] = [];
  for (const [name, parts] of files) entries.push({ name, bytes: byteLength(parts), sha256: yield* sha256(parts) });
  const result = manifestSchema.safeParse({ version: 1, step, files: entries });
  if (result.success) return result.data;
  throw new RunError(
    `a checkpoint of step ${step} with the files ${[...files.keys()].join(", ")} cannot be named: ${complaint(result.error)}`,
  );
}

export const sameManifest = (a: Manifest, b: Manifest): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The manifest of a checkpoint's folder; a RunError says what is wrong with it. */
export function readManifest(folder: string): Manifest {
  const file = join(folder, manifestName);
  const result = manifestSchema.safeParse(readJson(file));
  if (!result.success) throw new RunError(`${manifestName} is not a manifest: ${complaint(result.error)}`);
  return result.data;
}

function readJson(file: string): unknown {
  try {
    const stat = statSync(file);
    if (!stat.isFile() || stat.size > largestManifest) throw new RunError(`${manifestName} is not a file of at most 1 MB`);
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    if (cause instanceof SyntaxError) throw new RunError(`${manifestName} is not JSON`, { cause });
    throw readable(cause, manifestName);
  }
}

function complaint(error: z.ZodError): string {
  const [{ path, message }] = error.issues;
  return path.length > 0 ? `${path.join(".")}: ${message}` : message;
}

/** Whether every file is there with the size and the hash that were written; a RunError names the first that is not. */
export function* verifyFiles(folder: string, { files }: Manifest): Generator<void, void> {
  for (const entry of files) checkSize(folder, entry); // all sizes first: they cost nothing
  for (const entry of files) yield* readChecked(folder, entry, () => {});
}

/** A file's bytes, checked once more on their way in. */
export function* readVerified(folder: string, entry: FileEntry): Generator<void, Uint8Array> {
  checkSize(folder, entry);
  const bytes = new Uint8Array(entry.bytes);
  yield* readChecked(folder, entry, (piece, at) => bytes.set(piece, at));
  return bytes;
}

function* readChecked(folder: string, { name, sha256 }: FileEntry, take: (piece: Uint8Array, at: number) => void): Generator<void, void> {
  const hash = createHash("sha256");
  try {
    yield* readPieces(join(folder, name), (piece, at) => {
      hash.update(piece);
      take(piece, at);
    });
  } catch (error) {
    throw readable(error, name);
  }
  if (hash.digest("hex") !== sha256) throw new RunError(`${name} has changed since it was written (its SHA-256 differs)`);
}

function checkSize(folder: string, { name, bytes }: FileEntry): void {
  const found = sizeOf(folder, name);
  if (found !== bytes) throw new RunError(`${name} has ${found} bytes, and ${bytes} were written`);
}

function sizeOf(folder: string, name: string): number {
  try {
    return statSync(join(folder, name)).size;
  } catch (error) {
    throw readable(error, name);
  }
}

function readable(error: unknown, name: string): unknown {
  const code = systemCode(error);
  if (code === undefined) return error;
  return new RunError(code === "ENOENT" ? `${name} is missing` : `${name} cannot be read (${code})`, { cause: error });
}

function* sha256(parts: readonly Uint8Array[]): Generator<void, string> {
  const hash = createHash("sha256");
  for (const part of parts)
    for (let at = 0; at < part.length; at += 2 ** 22) {
      hash.update(part.subarray(at, at + 2 ** 22));
      yield;
    }
  return hash.digest("hex");
}
