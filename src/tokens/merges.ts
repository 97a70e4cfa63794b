import { Turns } from "../base/turns.ts";
import { Heap } from "./heap.ts";

/** A word as ids of tokens, and how often it was seen. */
export type CountedWord = readonly [symbols: ArrayLike<number>, count: number];
export type Merge = readonly [left: string, right: string];

const span = 2 ** 21; // two ids in one number: a pair's key
const end = -1;

/**
 * Byte-pair encoding (Sennrich et al. 2016), exactly: again and again the most frequent pair of neighbours becomes one token, the
 * pair with the smaller ids first among equals, until the vocabulary has its size or no pair occurs twice. New tokens
 * are added to `tokens`. All words lie in one linked list, and each pair knows the places where it was seen, so a merge costs
 * only the places that it changes.
 */
export async function learnMerges(
  words: readonly CountedWord[],
  tokens: string[],
  size: number,
  join: (...pair: Merge) => string,
  turns = new Turns(),
): Promise<Merge[]> {
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const list = new LinkedWords(words);
  const { symbol, next, before, weight } = list;
  const counts = new Map<number, number>();
  const places = new Map<number, number[]>();
  const queue = new Heap();
  const touched = new Set<number>();

  const lose = (left: number, right: number, count: number): void => {
    const key = left * span + right;
    counts.set(key, (counts.get(key) ?? 0) - count);
  };
  const gain = (at: number, count: number): void => {
    const key = symbol[at] * span + symbol[next[at]];
    counts.set(key, (counts.get(key) ?? 0) + count);
    const seen = places.get(key);
    if (seen) seen.push(at);
    else places.set(key, [at]);
    touched.add(key);
  };
  const enqueue = (): void => {
    for (const key of touched) queue.push(-(counts.get(key) ?? 0), key);
    touched.clear();
  };
  const replace = (at: number, merged: number): void => {
    const after = next[at];
    const follower = next[after];
    const count = weight[at];
    if (before[at] !== end) lose(symbol[before[at]], symbol[at], count);
    if (follower !== end) lose(symbol[after], symbol[follower], count);
    symbol[at] = merged;
    symbol[after] = end;
    next[at] = follower;
    if (follower !== end) before[follower] = at;
    if (before[at] !== end) gain(before[at], count);
    if (follower !== end) gain(at, count);
  };

  for (let at = 0; at < symbol.length; at++) {
    if (next[at] !== end) gain(at, weight[at]);
    if (at % 4096 === 0 && turns.over) await turns.rest();
  }
  enqueue();
  const merges: Merge[] = [];
  while (tokens.length < size) {
    const top = queue.pop();
    if (!top || top[0] > -2) break;
    const key = top[1];
    const count = counts.get(key) ?? 0;
    if (count !== -top[0]) {
      if (count > 0) queue.push(-count, key); // it became rarer since it was queued
      continue;
    }
    const [left, right] = [Math.floor(key / span), key % span];
    const token = join(tokens[left], tokens[right]);
    merges.push([tokens[left], tokens[right]]);
    let merged = ids.get(token); // two pairs can make the same token
    if (merged === undefined) {
      merged = tokens.push(token) - 1;
      ids.set(token, merged);
    }
    const found = places.get(key) ?? [];
    if (left === right) found.sort((a, b) => a - b); // in "aaa" the first two merge, as when encoding
    for (const at of found) if (symbol[at] === left && next[at] !== end && symbol[next[at]] === right) replace(at, merged);
    counts.delete(key);
    places.delete(key);
    touched.delete(key);
    enqueue();
    if (turns.over) await turns.rest();
  }
  return merges;
}

class LinkedWords {
  readonly symbol: Int32Array;
  readonly next: Int32Array;
  readonly before: Int32Array;
  readonly weight: Float64Array;

  constructor(words: readonly CountedWord[]) {
    const length = words.reduce((sum, [symbols]) => sum + symbols.length, 0);
    this.symbol = new Int32Array(length);
    this.next = new Int32Array(length);
    this.before = new Int32Array(length);
    this.weight = new Float64Array(length);
    let at = 0;
    for (const [symbols, count] of words) {
      for (let i = 0; i < symbols.length; i++, at++) {
        this.symbol[at] = symbols[i];
        this.next[at] = i + 1 < symbols.length ? at + 1 : end;
        this.before[at] = i > 0 ? at - 1 : end;
        this.weight[at] = count;
      }
    }
  }
}
