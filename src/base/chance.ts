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
  /** Random bytes, for masks that the graph compares with a threshold. */
  bytes(into: Uint8Array): Uint8Array;
}

export const chance = (seed: number): Chance => new Threefry(seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0);

class Threefry implements Chance {
  readonly #key0: number;
  readonly #key1: number;
  readonly #out = new Uint32Array(2);

  constructor(key0: number, key1: number) {
    this.#key0 = key0;
    this.#key1 = key1;
  }

  fork(purpose: string | number): Chance {
    const text = typeof purpose === "number" ? `#${purpose}` : purpose;
    let chain: Threefry = this;
    for (let i = 0; i < text.length; i += 4) {
      let word0 = text.charCodeAt(i);
      let word1 = 0;
      if (i + 1 < text.length) word0 |= text.charCodeAt(i + 1) << 16;
      if (i + 2 < text.length) word1 = text.charCodeAt(i + 2);
      if (i + 3 < text.length) word1 |= text.charCodeAt(i + 3) << 16;
      chain = chain.#step(word0, word1);
    }
    return chain.#step(text.length, 0x666f726b); // the length separates "a"+"b" from "ab"
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

  bytes(into: Uint8Array): Uint8Array {
    for (let i = 0, block = 0; i < into.length; i += 8, block++) {
      this.bits(block);
      for (let j = 0; j < 8 && i + j < into.length; j++) into[i + j] = this.#out[j >> 2] >>> (8 * (j & 3));
    }
    return into;
  }

  #step(word0: number, word1: number): Threefry {
    threefry(this.#key0, this.#key1, word0, word1, this.#out);
    return new Threefry(this.#out[0], this.#out[1]);
  }
}

const rotations = [13, 15, 26, 6, 17, 29, 16, 24];

function threefry(key0: number, key1: number, counter0: number, counter1: number, out: Uint32Array): void {
  const keys = [key0, key1, key0 ^ key1 ^ 0x1bd11bda];
  let x0 = (counter0 + key0) | 0;
  let x1 = (counter1 + key1) | 0;
  for (let round = 0; round < 20; round++) {
    x0 = (x0 + x1) | 0;
    const r = rotations[round & 7];
    x1 = ((x1 << r) | (x1 >>> (32 - r))) ^ x0;
    if ((round & 3) === 3) {
      const injection = (round >> 2) + 1;
      x0 = (x0 + keys[injection % 3]) | 0;
      x1 = (x1 + keys[(injection + 1) % 3] + injection) | 0;
    }
  }
  out[0] = x0;
  out[1] = x1;
}
