import { tokenOf } from "./bytes.ts";
import { frequentFirst } from "./count.ts";
import { Lattice } from "./lattice.ts";

export interface Piece {
  readonly bytes: Uint8Array;
  readonly score: number;
}

type Words = readonly (readonly [bytes: Uint8Array, count: number])[];

const longestPiece = 16;
const longestWord = 32; // longer words are learned from in parts
const mostSymbols = 1_000_000; // of the most frequent different words; the rest hardly moves a count
const mostSeeds = 100_000;
const shrink = 0.75;
const roundsOfExpectation = 2;

/**
 * The 256 bytes and the pieces that explain the words best, with their log probabilities (Kudo 2018): start from all frequent
 * substrings; estimate probabilities by expectation–maximisation; take away the quarter whose loss costs least; repeat.
 */
export function learnPieces(counted: Words, size: number): Piece[] {
  const words = frequent(counted);
  let pieces = [...singleBytes(), ...seeds(words, Math.max(mostSeeds, 4 * size))];
  let scores = logProbabilities(pieces.map(({ count }) => count));
  for (;;) {
    for (let round = 0; round < roundsOfExpectation; round++) {
      const expected = expectedCounts(words, pieces, scores);
      pieces = kept(pieces, expected, size);
      scores = logProbabilities(pieces.map(({ count }) => count));
    }
    if (pieces.length <= size) break;
    pieces = pruned(words, pieces, scores, Math.max(size, Math.floor(shrink * pieces.length)));
    scores = logProbabilities(pieces.map(({ count }) => count));
  }
  const all = pieces.map(({ bytes }, i) => ({ bytes, score: scores[i] }));
  return [...all.slice(0, 256), ...all.slice(256).sort((a, b) => b.score - a.score || compare(a.bytes, b.bytes))];
}

interface Candidate {
  readonly bytes: Uint8Array;
  readonly count: number;
}

const singleBytes = (): Candidate[] => Array.from({ length: 256 }, (_, byte) => ({ bytes: Uint8Array.of(byte), count: 1 }));

/** The most frequent words, in parts if they are long. */
function frequent(counted: Words): Words {
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
function seeds(words: Words, most: number): Candidate[] {
  const texts = words.map(([bytes]) => String.fromCharCode(...bytes));
  const starts = words.map(([bytes]) => Array.from(bytes.keys()).filter((at) => startsCharacter(bytes[at])));
  const found: [string, number][] = [];
  for (let length = 2; length <= longestPiece; length++) {
    const counts = new Map<string, number>();
    texts.forEach((text, i) => {
      starts[i] = starts[i].filter((from) => from + length <= text.length);
      for (const from of starts[i]) {
        const part = text.slice(from, from + length);
        counts.set(part, (counts.get(part) ?? 0) + words[i][1]);
      }
    });
    for (const [part, count] of counts) if (count > 1 && endsCharacter(part)) found.push([part, count * length]);
    texts.forEach((text, i) => {
      starts[i] = starts[i].filter((from) => (counts.get(text.slice(from, from + length)) ?? 0) > 1);
    });
  }
  return frequentFirst(found)
    .slice(0, most)
    .map(([part, covered]) => ({ bytes: Uint8Array.from(part, (byte) => byte.charCodeAt(0)), count: covered / part.length }));
}

/**
 * How often each piece is used, over all ways to cut each word, weighted by their probability (forward–backward). Every
 * symbol lends a piece a constant factor, the same for all ways; so products of probabilities neither vanish nor overflow.
 */
function expectedCounts(words: Words, pieces: readonly Candidate[], scores: Float64Array): Float64Array {
  const lattice = new Lattice(pieces.map(({ bytes }) => bytes));
  const weight = scores.map((score, i) => Math.exp(score + 2.5 * pieces[i].bytes.length));
  const expected = new Float64Array(pieces.length);
  const forward = new Float64Array(longestWord + 1);
  const backward = new Float64Array(longestWord + 1);
  for (const [word, count] of words) {
    lattice.read(word);
    const { edges, from, to, piece } = lattice;
    forward.fill(0)[0] = 1;
    backward.fill(0)[word.length] = 1;
    for (let edge = 0; edge < edges; edge++) forward[to[edge]] += forward[from[edge]] * weight[piece[edge]];
    for (let edge = edges - 1; edge >= 0; edge--) {
      const rest = weight[piece[edge]] * backward[to[edge]];
      backward[from[edge]] += rest;
      expected[piece[edge]] += (count * forward[from[edge]] * rest) / forward[word.length];
    }
  }
  return expected;
}

/** Pieces with their new counts. The bytes stay; others go if they are used less than half a time, or hardly ever if all are needed. */
function kept(pieces: readonly Candidate[], expected: Float64Array, size: number): Candidate[] {
  const counted = pieces.map(({ bytes }, i) => ({ bytes, count: Math.max(expected[i], i < 256 ? 0.5 : 0) }));
  const others = counted.slice(256).sort((a, b) => b.count - a.count || compare(a.bytes, b.bytes));
  const used = others.filter(({ count }) => count >= 0.5).length;
  return [...counted.slice(0, 256), ...others.slice(0, Math.max(used, size - 256)).filter(({ count }) => count > 0.01)];
}

/** The pieces whose absence would cost most: how much less likely the text is when the next best way takes a piece's place. */
function pruned(words: Words, pieces: readonly Candidate[], scores: Float64Array, size: number): Candidate[] {
  const lattice = new Lattice(pieces.map(({ bytes }) => bytes));
  const used = new Float64Array(pieces.length);
  for (const [word, count] of words) {
    lattice.read(word);
    for (const piece of lattice.best(word.length, scores)) used[piece] += count;
  }
  const total = used.reduce((sum, count) => sum + count, 0);
  const losses = pieces.map(({ bytes }, i) => {
    if (i < 256) return Number.POSITIVE_INFINITY;
    lattice.read(bytes);
    if (used[i] === 0 || lattice.best(bytes.length, scores)[0] !== i) return 0;
    const instead = lattice.best(bytes.length, scores, i);
    const totalInstead = Math.log(total + used[i] * (instead.length - 1));
    const logInstead = instead.reduce((sum, piece) => sum + Math.log(used[piece] + used[i]) - totalInstead, 0);
    return used[i] * (Math.log(used[i] / total) - logInstead);
  });
  const order = pieces.map((_, i) => i).sort((a, b) => (losses[b] === losses[a] ? a - b : losses[b] - losses[a]));
  return order
    .slice(0, size)
    .sort((a, b) => a - b)
    .map((i) => pieces[i]);
}

/** The maximisation step, with the digamma function in place of the logarithm: rare pieces get less than their share. */
function logProbabilities(counts: readonly number[]): Float64Array {
  const total = digamma(counts.reduce((sum, count) => sum + count, 0));
  return Float64Array.from(counts, (count) => digamma(count) - total);
}

function digamma(x: number): number {
  let [at, sum] = [x, 0];
  for (; at < 7; at++) sum -= 1 / at;
  const inverse = 1 / (at * at);
  return sum + Math.log(at) - 0.5 / at - inverse * (1 / 12 - inverse * (1 / 120 - inverse / 252));
}

const compare = (a: Uint8Array, b: Uint8Array): number => (tokenOf(a) < tokenOf(b) ? -1 : 1);
