import { quickBytes, threefryBytes } from "./bytes.ts";

/**
 * Randomness as a pure function. A `Chance` is a key; the number at a place is computed from (key, place) by
 * Threefry-2x32 with 20 rounds (Salmon et al. 2011), so there is no generator state to save and any place can be
 * asked for in any order. Forking gives an independent key for a purpose: `chance(1).fork("weights").fork("block.0/q")`.
 */
export interface Chance {
  /** An independent source for a purpose or a counter. */
  fork(purpose: string | number): Chance;
  /** 32 random bits at a place. */
  bits(place: number): number;
  /** Uniform in [0, 1) with 32 bits, at a place. */
  uniform(place: number): number;
  /** Standard normal, at a place. */
  normal(place: number): number;
  /** A whole number from 0 to below - 1, at a place. */
  integer(place: number, below: number): number;
  /** Random bytes, for masks that the graph compares with a threshold; from a place on, those that all bytes have there. */
  bytes(into: Uint8Array, from?: number): Uint8Array;
  /** The same bytes as flags: 1 where one is at least `least`, 0 elsewhere. */
  flags(into: Uint8Array, least: number, from?: number): Uint8Array;
}

/** How random bytes are made; all else is the same. */
export const byteSources = ["threefry", "quick"] as const;
export type ByteSource = (typeof byteSources)[number];

export const chance = (seed: number, bytes: ByteSource = "threefry"): Chance =>
  new Threefry(seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0, bytes);

class Threefry implements Chance {
  readonly #key0: number;
  readonly #key1: number;
  readonly #out = new Uint32Array(2);

  readonly #bytes: ByteSource;

  constructor(key0: number, key1: number, bytes: ByteSource) {
    this.#key0 = key0;
    this.#key1 = key1;
    this.#bytes = bytes;
  }

  fork(purpose: string | number): Chance {
    const text = typeof purpose === "number" ? `#${purpose}` : purpose;
    let [key0, key1] = [this.#key0, this.#key1];
    const absorb = (word0: number, word1: number): void => {
      threefry(key0, key1, word0, word1, this.#out);
      key0 = this.#out[0];
      key1 = this.#out[1];
    };
    for (let i = 0; i < text.length; i += 4) {
      let word0 = text.charCodeAt(i);
      let word1 = 0;
      if (i + 1 < text.length) word0 |= text.charCodeAt(i + 1) << 16;
      if (i + 2 < text.length) word1 = text.charCodeAt(i + 2);
      if (i + 3 < text.length) word1 |= text.charCodeAt(i + 3) << 16;
      absorb(word0, word1);
    }
    absorb(text.length, 0x666f726b); // the length separates "a"+"b" from "ab"
    return new Threefry(key0, key1, this.#bytes);
  }

  bits(place: number): number {
    threefry(this.#key0, this.#key1, place >>> 0, Math.floor(place / 2 ** 32) >>> 0, this.#out);
    return this.#out[0];
  }

  uniform(place: number): number {
    return this.bits(place) / 2 ** 32;
  }

  normal(place: number): number {
    this.bits(place); // Box–Muller from the two words of one block; (0, 1] keeps the logarithm finite
    const radius = Math.sqrt(-2 * Math.log((this.#out[0] + 1) / 2 ** 32));
    return radius * Math.cos((2 * Math.PI * this.#out[1]) / 2 ** 32);
  }

  integer(place: number, below: number): number {
    return Math.floor(this.uniform(place) * below);
  }

  bytes(into: Uint8Array, from = 0): Uint8Array {
    return this.#draw(into, from);
  }

  flags(into: Uint8Array, least: number, from = 0): Uint8Array {
    return this.#draw(into, from, least);
  }

  #draw(into: Uint8Array, from: number, least?: number): Uint8Array {
    (this.#bytes === "quick" ? quickBytes : threefryBytes)(this.#key0, this.#key1, into, from, least);
    return into;
  }
}

/** Twenty rounds, with the key added after every four. Written out, because a loop over a table of rotations is slower. */
function threefry(key0: number, key1: number, counter0: number, counter1: number, out: Uint32Array): void {
  const key2 = key0 ^ key1 ^ 0x1bd11bda;
  let x = (counter0 + key0) | 0;
  let y = (counter1 + key1) | 0;
  x = (x + y) | 0;
  y = ((y << 13) | (y >>> 19)) ^ x;
  x = (x + y) | 0;
  y = ((y << 15) | (y >>> 17)) ^ x;
  x = (x + y) | 0;
  y = ((y << 26) | (y >>> 6)) ^ x;
  x = (x + y) | 0;
  y = ((y << 6) | (y >>> 26)) ^ x;
  x = (x + key1) | 0;
  y = (y + key2 + 1) | 0;
  x = (x + y) | 0;
  y = ((y << 17) | (y >>> 15)) ^ x;
  x = (x + y) | 0;
  y = ((y << 29) | (y >>> 3)) ^ x;
  x = (x + y) | 0;
  y = ((y << 16) | (y >>> 16)) ^ x;
  x = (x + y) | 0;
  y = ((y << 24) | (y >>> 8)) ^ x;
  x = (x + key2) | 0;
  y = (y + key0 + 2) | 0;
  x = (x + y) | 0;
  y = ((y << 13) | (y >>> 19)) ^ x;
  x = (x + y) | 0;
  y = ((y << 15) | (y >>> 17)) ^ x;
  x = (x + y) | 0;
  y = ((y << 26) | (y >>> 6)) ^ x;
  x = (x + y) | 0;
  y = ((y << 6) | (y >>> 26)) ^ x;
  x = (x + key0) | 0;
  y = (y + key1 + 3) | 0;
  x = (x + y) | 0;
  y = ((y << 17) | (y >>> 15)) ^ x;
  x = (x + y) | 0;
  y = ((y << 29) | (y >>> 3)) ^ x;
  x = (x + y) | 0;
  y = ((y << 16) | (y >>> 16)) ^ x;
  x = (x + y) | 0;
  y = ((y << 24) | (y >>> 8)) ^ x;
  x = (x + key1) | 0;
  y = (y + key2 + 4) | 0;
  x = (x + y) | 0;
  y = ((y << 13) | (y >>> 19)) ^ x;
  x = (x + y) | 0;
  y = ((y << 15) | (y >>> 17)) ^ x;
  x = (x + y) | 0;
  y = ((y << 26) | (y >>> 6)) ^ x;
  x = (x + y) | 0;
  y = ((y << 6) | (y >>> 26)) ^ x;
  x = (x + key2) | 0;
  y = (y + key0 + 5) | 0;
  out[0] = x;
  out[1] = y;
}
