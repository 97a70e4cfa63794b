import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, readSync, statSync, writeSync } from "node:fs";
import type { Ids } from "../batches/ids.ts";

// Ids in a file, as small as the vocabulary allows (1, 2 or 4 bytes each, little-endian), read by position: however long the text,
// memory holds only the windows in use.

const kinds = { 1: Uint8Array, 2: Uint16Array, 4: Int32Array } as const;
type Width = keyof typeof kinds;

export const idWidth = (vocab: number): Width => (vocab <= 2 ** 8 ? 1 : vocab <= 2 ** 16 ? 2 : 4);

/** Opens a file of ids. Positions are counted in ids from `start` on; `length` of them if given. */
export function idsInFile(file: string, width: Width, start = 0, length = statSync(file).size / width - start): Ids & { close(): void } {
  const descriptor = openSync(file, "r");
  let bytes = new Uint8Array(0);
  return {
    length,
    read(at, into) {
      const wanted = into.length * width;
      if (bytes.length < wanted) bytes = new Uint8Array(wanted);
      let done = 0;
      while (done < wanted) {
        const count = readSync(descriptor, bytes, done, wanted - done, (start + at) * width + done);
        if (count === 0) throw new RangeError(`${file} ends before position ${at + into.length}`);
        done += count;
      }
      into.set(new kinds[width](bytes.buffer, 0, into.length));
    },
    close: () => closeSync(descriptor),
  };
}

/** Writes ids one stretch after the other. */
export class IdsWriter {
  readonly #descriptor: number;
  readonly #width: Width;
  readonly #hash = createHash("sha256");
  length = 0;

  constructor(file: string, vocab: number) {
    this.#descriptor = openSync(file, "w");
    this.#width = idWidth(vocab);
  }

  write(ids: Int32Array): void {
    const narrow = kinds[this.#width].from(ids);
    const bytes = new Uint8Array(narrow.buffer, 0, narrow.byteLength);
    this.#hash.update(bytes);
    let done = 0;
    while (done < bytes.length) done += writeSync(this.#descriptor, bytes, done);
    this.length += ids.length;
  }

  /** SHA-256 of all that was written; asked for once. */
  digest(): string {
    return this.#hash.digest("hex");
  }

  /** Down to the disk: a file that is there by its name is there in full. */
  close(): void {
    fsyncSync(this.#descriptor);
    closeSync(this.#descriptor);
  }
}
