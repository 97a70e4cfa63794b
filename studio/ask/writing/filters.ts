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
  const scores = new Float32Array(vocab).fill(others > 0 ? Math.log(left / others) + total : Number.NEGATIVE_INFINITY);
  for (const { id, logProbability } of top) scores[id] = logProbability + total;
  const unwritten = top.filter(({ text, bytes }) => bytes === null && never.has(text));
  const bias = new Map(unwritten.map(({ id }) => [id, Number.NEGATIVE_INFINITY] as const));
  const { tokens, probabilities } = candidates(scores, sampling({ ...settings, bias }), ids);
  const drawn = new Map(Array.from(tokens, (token, i) => [token, probabilities[i]]));
  const choices = top.map(({ id, text, bytes, logProbability }) => ({
    id,
    text,
    bytes,
    logProbability,
    before: Math.exp(logProbability),
    after: drawn.get(id) ?? 0,
  }));
  const seen = choices.reduce((sum, { after }) => sum + after, 0);
  return { choices, rest: { count: others, before: left, after: Math.max(0, 1 - seen) }, kept: tokens.length };
}
