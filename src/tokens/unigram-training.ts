import { Turns } from "../base/turns.ts";
import { tokenOf } from "./bytes.ts";
import { Lattice } from "./lattice.ts";
import { type Candidate, frequent, longestWord, seeds, type Words } from "./unigram-seeds.ts";

export interface Piece {
  readonly bytes: Uint8Array;
  readonly score: number;
}

const mostSeeds = 100_000;
const shrink = 0.75;
/** Words between two moments at which this may be left. */
const often = 1024;
const roundsOfExpectation = 2;

/**
 * The 256 bytes and the pieces that explain the words best, with their log probabilities (Kudo 2018): start from all frequent
 * substrings; estimate probabilities by expectation–maximisation; take away the quarter whose loss costs least; repeat.
 */
export async function learnPieces(counted: Words, size: number, turns = new Turns()): Promise<Piece[]> {
  const words = frequent(counted);
  let pieces = [...singleBytes(), ...(await turns.through(seeds(words, Math.max(mostSeeds, 4 * size))))];
  let scores = logProbabilities(pieces.map(({ count }) => count));
  for (;;) {
    for (let round = 0; round < roundsOfExpectation; round++) {
      const expected = await turns.through(expectedCounts(words, pieces, scores));
      pieces = kept(pieces, expected, size);
      scores = logProbabilities(pieces.map(({ count }) => count));
    }
    if (pieces.length <= size) break;
    pieces = await turns.through(pruned(words, pieces, scores, Math.max(size, Math.floor(shrink * pieces.length))));
    scores = logProbabilities(pieces.map(({ count }) => count));
  }
  const all = pieces.map(({ bytes }, i) => ({ bytes, score: scores[i] }));
  return [...all.slice(0, 256), ...all.slice(256).sort((a, b) => b.score - a.score || compare(a.bytes, b.bytes))];
}

const singleBytes = (): Candidate[] => Array.from({ length: 256 }, (_, byte) => ({ bytes: Uint8Array.of(byte), count: 1 }));

/**
 * How often each piece is used, over all ways to cut each word, weighted by their probability (forward–backward). Every
 * symbol lends a piece a constant factor, the same for all ways; so products of probabilities neither vanish nor overflow.
 */
function* expectedCounts(words: Words, pieces: readonly Candidate[], scores: Float64Array): Generator<void, Float64Array> {
  const lattice = new Lattice(pieces.map(({ bytes }) => bytes));
  const weight = scores.map((score, i) => Math.exp(score + 2.5 * pieces[i].bytes.length));
  const expected = new Float64Array(pieces.length);
  const forward = new Float64Array(longestWord + 1);
  const backward = new Float64Array(longestWord + 1);
  for (const [i, [word, count]] of words.entries()) {
    if (i % often === 0) yield;
    lattice.read(word);
    const { edges, from, to, piece } = lattice;
    forward.fill(0)[0] = 1;
    backward.fill(0)[word.length] = 1;
    for (let edge = 0; edge < edges; edge++) forward[to[edge]] += forward[from[edge]] * weight[piece[edge]];
    if (forward[word.length] < 1e-290) continue; // a long word of bytes that hardly occur teaches nothing
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
function* pruned(words: Words, pieces: readonly Candidate[], scores: Float64Array, size: number): Generator<void, Candidate[]> {
  const lattice = new Lattice(pieces.map(({ bytes }) => bytes));
  const used = new Float64Array(pieces.length);
  for (const [i, [word, count]] of words.entries()) {
    lattice.read(word);
    for (const piece of lattice.best(word.length, scores)) used[piece] += count;
    if (i % often === 0) yield;
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
