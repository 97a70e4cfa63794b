import { frequentFirst } from "./count.ts";

// What unigram learning starts from: the words that it learns on, and the substrings that may become pieces.

export type Words = readonly (readonly [bytes: Uint8Array, count: number])[];

export interface Candidate {
  readonly bytes: Uint8Array;
  readonly count: number;
}

const longestPiece = 16;
export const longestWord = 32; // longer words are learned from in parts
const mostSymbols = 1_000_000; // of the most frequent different words; the rest hardly moves a count

/** The most frequent words, in parts if they are long. */
export function frequent(counted: Words): Words {
  const words: Words[number][] = [];
  let symbols = 0;
  for (const [bytes, count] of counted) {
    for (let from = 0, to = 0; from < bytes.length && symbols < mostSymbols; from = to) {
      to = Math.min(from + longestWord, bytes.length);
      while (to < bytes.length && to > from + longestWord - 3 && !startsCharacter(bytes[to])) to--;
      words.push([bytes.subarray(from, to), count]);
      symbols += to - from;
    }
  }
  return words;
}

/** Whether a byte of UTF-8 is the first of a character. */
const startsCharacter = (byte: number): boolean => (byte & 0xc0) !== 0x80;

function endsCharacter(part: string): boolean {
  let at = part.length - 1;
  while (at > 0 && !startsCharacter(part.charCodeAt(at))) at--;
  const first = part.charCodeAt(at);
  return part.length - at === (first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4);
}

/**
 * Substrings of whole characters that are seen at least twice, those that cover most of the text first. Length by length: what
 * is seen once is not tried longer, so memory stays near the size of the words.
 */
export function* seeds(words: Words, most: number): Generator<void, Candidate[]> {
  const texts = words.map(([bytes]) => String.fromCharCode(...bytes));
  const starts = words.map(([bytes]) => Array.from(bytes.keys()).filter((at) => startsCharacter(bytes[at])));
  const found: [string, number][] = [];
  for (let length = 2; length <= longestPiece; length++) {
    const counts = new Map<string, number>();
    for (const [i, text] of texts.entries()) {
      if (i % 1024 === 0) yield;
      starts[i] = starts[i].filter((from) => from + length <= text.length);
      for (const from of starts[i]) {
        const part = text.slice(from, from + length);
        counts.set(part, (counts.get(part) ?? 0) + words[i][1]);
      }
    }
    yield;
    for (const [part, count] of counts) if (count > 1 && endsCharacter(part)) found.push([part, count * length]);
    for (const [i, text] of texts.entries()) {
      if (i % 1024 === 0) yield;
      starts[i] = starts[i].filter((from) => (counts.get(text.slice(from, from + length)) ?? 0) > 1);
    }
  }
  return frequentFirst(found)
    .slice(0, most)
    .map(([part, covered]) => ({ bytes: Uint8Array.from(part, (byte) => byte.charCodeAt(0)), count: covered / part.length }));
}
