import { Hashing } from "../storage/hash.ts";

// What Node calls "node:crypto".

export class Hash {
  readonly #hashing: Hashing;

  constructor(hashing: Hashing) {
    this.#hashing = hashing;
  }

  update(data: string | ArrayBufferView): this {
    this.#hashing.update(
      typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
    );
    return this;
  }

  copy(): Hash {
    return new Hash(this.#hashing.copy());
  }

  digest(_encoding: "hex"): string {
    return Array.from(this.#hashing.digest(), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}

export const createHash = (kind: "sha256" | "sha1"): Hash => new Hash(new Hashing(kind));

export const randomUUID = (): string => crypto.randomUUID();

/** A whole number from `least` on, below `most`. */
export function randomInt(least: number, most?: number): number {
  const [from, to] = most === undefined ? [0, least] : [least, most];
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return from + Math.floor((((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53) * (to - from));
}
