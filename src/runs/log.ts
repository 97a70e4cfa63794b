import { closeSync, fsyncSync, ftruncateSync, openSync, statSync, writeSync } from "node:fs";
import { diskError } from "../training/disk.ts";

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
