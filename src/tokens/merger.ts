import { Heap } from "./heap.ts";
import type { IdList } from "./id-list.ts";

/** Up to so many symbols, looking at all pairs for each merge is cheaper than a queue. */
const shortWord = 24;

/** Applies merges to a word: always the earliest learned one, and from the left. */
export class Merger {
  readonly #left: Int32Array;
  readonly #right: Int32Array;
  readonly #rank: Int32Array;
  readonly #made: Int32Array;
  readonly #mask: number;
  readonly #ranks = new Int32Array(shortWord);

  /** Three numbers for each merge, the earliest first: the ids of its two symbols and of what they become. */
  constructor(merges: Int32Array) {
    const count = merges.length / 3;
    const slots = 2 ** Math.ceil(Math.log2(2 * count + 2));
    this.#mask = slots - 1;
    this.#left = new Int32Array(slots).fill(-1);
    this.#right = new Int32Array(slots);
    this.#rank = new Int32Array(slots);
    this.#made = new Int32Array(count);
    for (let rank = 0; rank < count; rank++) {
      const [left, right] = [merges[3 * rank], merges[3 * rank + 1]];
      const slot = this.#slot(left, right);
      this.#left[slot] = left;
      this.#right[slot] = right;
      this.#rank[slot] = rank; // of a pair that is given twice, the last counts, as in the `tokenizers` package
      this.#made[rank] = merges[3 * rank + 2];
    }
  }

  /** Adds the ids of a word of symbols, which are overwritten on the way. */
  encode(symbols: Int32Array, length: number, into: IdList): void {
    if (length > shortWord) this.#encodeLong(symbols, length, into);
    else this.#encodeShort(symbols, length, into);
  }

  #encodeShort(symbols: Int32Array, given: number, into: IdList): void {
    const ranks = this.#ranks; // of each symbol with the next one
    let length = given;
    for (let i = 0; i + 1 < length; i++) ranks[i] = this.#rankOf(symbols[i], symbols[i + 1]);
    while (length > 1) {
      let best = 0;
      for (let i = 1; i + 1 < length; i++) if (ranks[i] < ranks[best]) best = i;
      if (ranks[best] === never) break;
      symbols[best] = this.#made[ranks[best]];
      length--;
      for (let i = best + 1; i < length; i++) {
        symbols[i] = symbols[i + 1];
        ranks[i] = ranks[i + 1];
      }
      if (best > 0) ranks[best - 1] = this.#rankOf(symbols[best - 1], symbols[best]);
      if (best + 1 < length) ranks[best] = this.#rankOf(symbols[best], symbols[best + 1]);
    }
    for (let i = 0; i < length; i++) into.push(symbols[i]);
  }

  #encodeLong(symbols: Int32Array, length: number, into: IdList): void {
    const next = Int32Array.from({ length }, (_, i) => i + 1);
    const before = Int32Array.from({ length }, (_, i) => i - 1);
    const queue = new Heap();
    const enqueue = (at: number): void => {
      if (at < 0 || next[at] >= length) return;
      const rank = this.#rankOf(symbols[at], symbols[next[at]]);
      if (rank !== never) queue.push(rank, at);
    };
    for (let at = 0; at < length; at++) enqueue(at);
    for (let top = queue.pop(); top; top = queue.pop()) {
      const [rank, at] = top;
      const after = next[at];
      // What was queued may have been merged with something else since.
      if (symbols[at] < 0 || after >= length || this.#rankOf(symbols[at], symbols[after]) !== rank) continue;
      symbols[at] = this.#made[rank];
      symbols[after] = -1;
      next[at] = next[after];
      if (next[at] < length) before[next[at]] = at;
      enqueue(before[at]);
      enqueue(at);
    }
    for (let at = 0; at < length; at = next[at]) into.push(symbols[at]);
  }

  #rankOf(left: number, right: number): number {
    const slot = this.#slot(left, right);
    return this.#left[slot] < 0 ? never : this.#rank[slot];
  }

  /** Where a pair lies, or where it would. */
  #slot(left: number, right: number): number {
    const mixed = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
    let slot = (mixed ^ (mixed >>> 15)) & this.#mask;
    while (this.#left[slot] >= 0 && (this.#left[slot] !== left || this.#right[slot] !== right)) slot = (slot + 1) & this.#mask;
    return slot;
  }
}

const never = 0x7fffffff;
