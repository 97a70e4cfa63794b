import { Turns } from "../base/turns.ts";
import { nextCut, ownCopy, wellFormed } from "./cut.ts";
import { compiled } from "./patterns.ts";

export type Texts = Iterable<string> | AsyncIterable<string>;

/** What was seen how often, the most frequent first and equals in code-point order: the same for every order of the texts. */
export type Counts = readonly (readonly [string, number])[];

export const codePointOrder = (a: string, b: string): number => {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    // Surrogates stand for code points above all others of UTF-16.
    const [surrogateX, surrogateY] = [x >= 0xd800 && x < 0xe000, y >= 0xd800 && y < 0xe000];
    return surrogateX === surrogateY ? x - y : surrogateX ? 1 : -1;
  }
  return a.length - b.length;
};

export const frequentFirst = (counts: Iterable<readonly [string, number]>): Counts =>
  [...counts].sort(([a, countA], [b, countB]) => countB - countA || codePointOrder(a, b));

/** Every code point with its count, in code-point order. Each text is seen by itself and then forgotten. */
export async function countCharacters(texts: Texts, turns = new Turns()): Promise<Counts> {
  const counts = new Float64Array(0x110000);
  for await (const text of texts) {
    let seen = 0;
    for (const character of wellFormed(text)) {
      counts[character.codePointAt(0) ?? 0]++;
      if (++seen % often === 0 && turns.over) await turns.rest();
    }
    if (turns.over) await turns.rest();
  }
  const found: [string, number][] = [];
  for (let code = 0; code < counts.length; code++) if (counts[code] > 0) found.push([String.fromCodePoint(code), counts[code]]);
  return found;
}

/** How many small things are done before the clock is asked. */
const often = 4096;

const longestPiece = 64;
const mostPieces = 1_000_000;
const mostWords = 4_000_000;

/** Every word of a pattern with its count. Beyond four million different words, the rarest so far are forgotten. */
export async function countWords(texts: Texts, pattern: string, turns = new Turns()): Promise<Counts> {
  const words = new Map<string, number>();
  const pieces = new Map<string, number>();
  const regex = compiled(pattern);
  const addWords = (piece: string, count: number): void => {
    for (const [word] of piece.matchAll(regex)) {
      const known = words.get(word);
      words.set(known === undefined ? ownCopy(word) : word, (known ?? 0) + count);
    }
    if (words.size <= mostWords) return;
    for (let rare = 1; words.size > mostWords / 2; rare++) for (const [word, seen] of words) if (seen <= rare) words.delete(word);
  };
  let done = 0;
  const empty = async (): Promise<void> => {
    for (const [piece, count] of pieces) {
      addWords(piece, count);
      if (++done % often === 0 && turns.over) await turns.rest();
    }
    pieces.clear();
  };
  for await (const given of texts) {
    const text = wellFormed(given);
    for (let from = 0, to = 0; from < text.length; from = to) {
      if (++done % often === 0 && turns.over) await turns.rest();
      to = nextCut(text, from);
      const piece = text.slice(from, to);
      if (piece.length > longestPiece) {
        addWords(piece, 1);
        continue;
      }
      const known = pieces.get(piece);
      pieces.set(known === undefined ? ownCopy(piece) : piece, (known ?? 0) + 1);
      if (pieces.size >= mostPieces) await empty();
    }
  }
  await empty();
  return frequentFirst(words);
}
