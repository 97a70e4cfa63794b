import { candidates, type Sampling, sampling } from "../../../src/generation/sampling.ts";
import type { ToldToken } from "../../../src/protocol/messages.ts";

// What penalties, temperature and filters make of the next token's distribution, by the sampler's own arithmetic on what was told of it.

/** What a model said of one place: its likeliest tokens, and what makes their log-probabilities scores again. */
export type Place = Pick<ToldToken, "top" | "total">;

export interface Choice extends Pick<ToldToken, "id" | "text" | "bytes" | "logProbability"> {
  /** The model's own probability. */
  readonly before: number;
  /** The one that it is drawn with; 0 if it was cut. */
  readonly after: number;
}

export interface Choices {
  readonly choices: readonly Choice[];
  /** All tokens that were not told, together. */
  readonly rest: { readonly count: number; readonly before: number; readonly after: number };
  /** How many tokens are left to draw from. */
  readonly kept: number;
}

/** Tokens that stand for what a vocabulary lacks, or for the beginning: never written. */
const never = new Set(["<unk>", "<s>"]);

/**
 * Exact where all tokens were told, where k of them are enough, and at temperature 1. Else the others are taken to share equally what is
 * left of the probability.
 */
export function filtered(place: Place, settings: Omit<Partial<Sampling>, "bias">, ids: Iterable<number>, vocab: number): Choices {
  const { top, total = 0 } = place;
  const left = Math.max(0, 1 - top.reduce((sum, { logProbability }) => sum + Math.exp(logProbability), 0));
  const others = Math.max(0, vocab - top.length);
  const { topK = 0, repetitionPenalty = 1 } = settings;
  // Where the k likeliest are all told, nobody else counts, and a large vocabulary takes no time.
  const isEnough = topK > 0 && topK < top.length && repetitionPenalty === 1;
  const size = isEnough ? top.length : vocab;
  const placeOf = (i: number): number => (isEnough ? i : top[i].id);
  const scores = new Float32Array(size).fill(others > 0 ? Math.log(left / others) + total : Number.NEGATIVE_INFINITY);
  for (const [i, { logProbability }] of top.entries()) scores[placeOf(i)] = logProbability + total;
  const bias = new Map(
    top.flatMap(({ text, bytes }, i) => (bytes === null && never.has(text) ? [[placeOf(i), Number.NEGATIVE_INFINITY] as const] : [])),
  );
  const { tokens, probabilities } = candidates(scores, sampling({ ...settings, bias }), isEnough ? [] : ids);
  const told = new Map(top.map((_, i) => [placeOf(i), i]));
  const after = new Float64Array(top.length);
  for (let i = 0; i < tokens.length; i++) {
    const at = told.get(tokens[i]);
    if (at !== undefined) after[at] = probabilities[i];
  }
  const choices = top.map(({ id, text, bytes, logProbability }, i) => ({
    id,
    text,
    bytes,
    logProbability,
    before: Math.exp(logProbability),
    after: after[i],
  }));
  const seen = after.reduce((sum, share) => sum + share, 0);
  return { choices, rest: { count: others, before: left, after: Math.max(0, 1 - seen) }, kept: tokens.length };
}
