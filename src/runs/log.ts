import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { FormatError } from "../base/errors.ts";
import { diskError } from "../disk/files.ts";

const bufferedCharacters = 16_384;

/** log.jsonl: one line for each thing that happened. Opened at the length that a checkpoint remembers, since what came after it will happen again. */
export class Log {
  readonly #file: string;
  readonly #descriptor: number;
  /** Whether lines that should be there are not. */
  readonly lost: boolean;
  #bytes: number;
  #waiting = "";

  constructor(file: string, bytes: number) {
    this.#file = file;
    try {
      const found = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      this.#bytes = Math.min(bytes, found);
      this.lost = found < bytes;
      this.#descriptor = openSync(file, this.#bytes > 0 ? "r+" : "w");
      ftruncateSync(this.#descriptor, this.#bytes);
    } catch (error) {
      throw diskError(error, file, "open");
    }
  }

  append(line: Readonly<Record<string, unknown>>): void {
    this.#waiting += `${JSON.stringify(line)}\n`;
    if (this.#waiting.length > bufferedCharacters) this.flush();
  }

  flush(): void {
    const bytes = new TextEncoder().encode(this.#waiting);
    this.#waiting = "";
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done, bytes.length - done, this.#bytes + done);
    } catch (error) {
      throw diskError(error, this.#file, "write");
    }
    this.#bytes += bytes.length;
  }

  /** Everything so far is on the disk; gives back its length. */
  sync(): number {
    this.flush();
    try {
      fsyncSync(this.#descriptor);
    } catch (error) {
      throw diskError(error, this.#file, "write");
    }
    return this.#bytes;
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** The lines of a log, each with its step. */
export const readLog = (file: string): Readonly<Record<string, unknown>>[] =>
  readLines(file).map((line, i) => parseLine(line, file, i + 1));

function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch (error) {
    throw diskError(error, file, "read");
  }
}

function parseLine(text: string, file: string, line: number): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "step" in value && typeof value.step === "number") return { ...value };
  } catch {
    // the same sentence as for JSON that is something else
  }
  throw new FormatError("not a line of a training log, which is a JSON object with a step; remove the line", { file, line });
}

/**
 * The best validation of a log: the one whose weights were kept. Where validations scored a part of what is held out, the loss is that over all of it, if the
 * training came to its end.
 */
export function bestIn(lines: Iterable<Readonly<Record<string, unknown>>>): { readonly step: number; readonly loss: number } | undefined {
  let best: { step: number; loss: number } | undefined;
  let whole: { step: number; loss: number } | undefined;
  for (const { step, validLoss, wholeLoss } of lines) {
    if (typeof step !== "number") continue;
    if (typeof validLoss === "number" && !(best && best.loss <= validLoss)) best = { step, loss: validLoss };
    if (typeof wholeLoss === "number") whole = { step, loss: wholeLoss };
  }
  return whole && whole.step === best?.step ? whole : best;
}
