import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import * as z from "zod";
import { RunError } from "../base/errors.ts";
import { diskError, makeFolders, syncFolder, systemCode, writeDurably } from "./files.ts";

// A file that is made row by row, in hours perhaps: until it is whole it is called <file>.part, and <file>.part.json says how far it has come
// and of what it is made. The rows are on the disk before the state says so; what stands behind them is cut off when the work goes on.

const stateSchema = z.object({
  version: z.literal(1),
  /** What it is made of, by name. */
  made: z.record(z.string(), z.string()),
  rows: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  /** SHA-256 of the rows that have been read. */
  read: z.string(),
  counts: z.record(z.string(), z.int().nonnegative()),
  /** The number of the process that saved it. */
  process: z.int(),
});

export type PartState = Omit<z.output<typeof stateSchema>, "version">;

const partOf = (file: string) => ({ rows: `${file}.part`, state: `${file}.part.json` });

/** How far it has come; undefined where nothing was begun, or nothing saved. */
export function readPart(file: string): PartState | undefined {
  const part = partOf(file);
  if (!existsSync(part.rows) || !existsSync(part.state)) return undefined;
  const { success, data } = stateSchema.safeParse(parsed(part.state));
  if (!success)
    throw new RunError(`${part.state} does not say how far ${part.rows} has come; remove both to begin again`, { code: "run.damaged" });
  if (statSync(part.rows).size < data.bytes)
    throw new RunError(`${part.rows} is shorter than ${part.state} says; remove both to begin again`, { code: "run.damaged" });
  return data;
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw diskError(error, file, "read");
  }
}

/** Parts that this process is writing. */
const open = new Set<string>();

export const isWriting = (file: string): boolean => open.has(resolve(file));

export class PartFile {
  readonly #file: string;
  readonly #handle: number;
  #bytes: number;

  /** Goes on behind what is known to be good, or begins. */
  constructor(file: string, bytes = 0) {
    this.#file = file;
    this.#bytes = bytes;
    const part = partOf(file);
    try {
      makeFolders(dirname(file));
      if (bytes === 0) rmSync(part.state, { force: true });
      this.#handle = openSync(part.rows, bytes === 0 ? "w" : "r+");
      ftruncateSync(this.#handle, bytes);
      open.add(resolve(file));
    } catch (error) {
      throw diskError(error, part.rows, "write");
    }
  }

  get bytes(): number {
    return this.#bytes;
  }

  append(text: string): void {
    const bytes = new TextEncoder().encode(text);
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#handle, bytes, at, bytes.length - at, this.#bytes + at);
    } catch (error) {
      throw diskError(error, partOf(this.#file).rows, "write");
    }
    this.#bytes += bytes.length;
  }

  /** From here on it can go on after anything. */
  save(state: Omit<PartState, "bytes" | "process">): void {
    try {
      fsyncSync(this.#handle);
    } catch (error) {
      throw diskError(error, partOf(this.#file).rows, "write");
    }
    writeDurably(partOf(this.#file).state, `${JSON.stringify({ version: 1, ...state, bytes: this.#bytes, process: process.pid })}\n`);
  }

  /** It is whole, and gets its name. */
  finish(): void {
    const part = partOf(this.#file);
    try {
      fsyncSync(this.#handle);
      renameSync(part.rows, this.#file);
      rmSync(part.state, { force: true });
      syncFolder(dirname(this.#file));
    } catch (error) {
      throw diskError(error, this.#file, "write");
    }
  }

  close(): void {
    open.delete(resolve(this.#file));
    try {
      closeSync(this.#handle);
    } catch (error) {
      if (systemCode(error) !== "EBADF") throw error;
    }
  }
}
