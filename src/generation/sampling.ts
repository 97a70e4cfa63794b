import * as z from "zod";
import { ConfigError, NonFiniteError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { between, codeOf, whole } from "../models/bounds.ts";

// How the next token is chosen from its scores.

/** Beyond this a bias decides alone, and sums of 32-bit numbers would overflow before long. */
export const largestBias = 1e6;

const samplingSchema = z.strictObject({
  /** Divides the scores: below 1 sharper, above 1 flatter, 0 always the likeliest token. */
  temperature: between(0, 1000).default(1),
  /** Only the k likeliest tokens; 0 for all. */
  topK: whole(0, 1e9).default(0),
  /** Only the likeliest tokens that together have at least this probability; 1 for all, 0 for the likeliest alone. */
  topP: between(0, 1).default(1),
  /** Only tokens with at least this share of the likeliest one's probability. */
  minP: between(0, 1).default(0),
  /** Divides positive scores of tokens that were there before, and multiplies negative ones; 1 for none. */
  repetitionPenalty: between(0.01, 1000).default(1),
  /** Taken off the scores of tokens that were written before; those of the prompt do not count. Below 0 it invites them. */
  presencePenalty: between(-2, 2).default(0),
  /** The same once for each time that a token was written. */
  frequencyPenalty: between(-2, 2).default(0),
  /** Added to the scores of single tokens, by id; −∞ forbids one. */
  bias: z.map(z.int().min(0), between(-largestBias, largestBias).or(z.literal(Number.NEGATIVE_INFINITY))).default(new Map()),
});

export type SamplingInput = z.input<typeof samplingSchema>;
export type Sampling = z.output<typeof samplingSchema>;

/** Checked settings; every one has a value that changes nothing. */
export function sampling(given: SamplingInput = {}): Sampling {
  const result = samplingSchema.safeParse(given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const code = codeOf(issue);
  if (issue.code !== "unrecognized_keys") throw new ConfigError(issue.message, { code, at: ["sampling", ...issue.path].join(".") });
  const [key] = issue.keys;
  throw new ConfigError(`unknown key${suggest(key, Object.keys(samplingSchema.shape))}`, { code, at: `sampling.${key}` });
}

/** What a model says whose weights are of no use. */
export const notNumbers = "the scores are not numbers (NaN or infinity); the weights are damaged, or training went wrong";

/** Tokens that may be chosen, the likeliest first, with probabilities that sum to 1. */
export interface Candidates {
  readonly tokens: Int32Array;
  readonly probabilities: Float64Array;
}

/** What a choice depends on beside scores and settings. */
export interface Before {
  /** All tokens so far, with those of the prompt. */
  readonly ids?: Iterable<number>;
  /** Those that were written. */
  readonly written?: Iterable<number>;
  /** What may come at all, a bit for each token: bit `id & 31` of word `id >> 5`. */
  readonly allowed?: Int32Array;
}

/** What is left of a distribution after penalties, bias, temperature and filters. At temperature 0 that is one token. */
export function candidates(scores: Float32Array, settings: Sampling, before: Iterable<number> = [], more: Before = {}): Candidates {
  const { adjusted, best } = adjustedScores(scores, settings, { ids: before, ...more });
  if (settings.temperature === 0) return { tokens: Int32Array.of(best), probabilities: Float64Array.of(1) };
  const weights = new Float64Array(adjusted.length); // relative to the likeliest, which has 1
  let total = 0;
  for (let i = 0; i < weights.length; i++) total += weights[i] = Math.exp((adjusted[i] - adjusted[best]) / settings.temperature);
  if (!(total > 0)) throw new NonFiniteError(notNumbers);
  return filtered(weights, total, settings);
}

/** Scores after penalties, bias and what is allowed, and which is the highest of them. */
export function adjustedScores(
  scores: Float32Array,
  { repetitionPenalty, presencePenalty, frequencyPenalty, bias }: Sampling,
  { ids = [], written = [], allowed }: Before,
): { readonly adjusted: Float32Array; readonly best: number } {
  const counted = presencePenalty !== 0 || frequencyPenalty !== 0;
  const adjusted = repetitionPenalty === 1 && !counted && bias.size === 0 && !allowed ? scores : scores.slice();
  if (repetitionPenalty !== 1)
    for (const token of new Set(ids))
      adjusted[token] = scores[token] > 0 ? scores[token] / repetitionPenalty : scores[token] * repetitionPenalty;
  if (counted) for (const [token, count] of counts(written)) adjusted[token] -= presencePenalty + count * frequencyPenalty;
  for (const [token, value] of bias) adjusted[token] += value;
  if (allowed) forbid(adjusted, allowed); // the last: no bias brings back what is forbidden
  const best = highest(adjusted);
  if (adjusted[best] === Number.NEGATIVE_INFINITY)
    throw allowed
      ? new ConfigError("no token may come here by the form of the answer, or only such as are never written")
      : new ConfigError("every token is forbidden", { at: "sampling.bias" });
  return { adjusted, best };
}

function counts(tokens: Iterable<number>): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const token of tokens) found.set(token, (found.get(token) ?? 0) + 1);
  return found;
}

function forbid(scores: Float32Array, allowed: Int32Array): void {
  for (let first = 0, word = 0; first < scores.length; first += 32, word++) {
    const bits = allowed[word] ?? 0;
    if (bits === -1) continue; // all of them
    const end = Math.min(scores.length, first + 32);
    for (let token = first; token < end; token++) if (((bits >>> (token & 31)) & 1) === 0) scores[token] = Number.NEGATIVE_INFINITY;
  }
}

/** First the k likeliest, then of these the fewest that have the probability p, then of these those that are likely enough. */
function filtered(weights: Float64Array, total: number, { topK, topP, minP }: Sampling): Candidates {
  const few = topK > 0 && topK < weights.length;
  // Tokens below this bound have less than 1 − p all together, so the ones that are wanted are among the others: few are sorted.
  const bound = ((1 - topP) * total) / weights.length;
  const order = sortedAbove(weights, few ? kthLargest(weights, topK) : bound).slice(0, few ? topK : undefined);
  const sumOf = (tokens: readonly number[]) => tokens.reduce((sum, token) => sum + weights[token], 0);
  const kept = topP < 1 ? nucleus(weights, order, topP * (few ? sumOf(order) : total)) : order;
  const likely = kept.filter((token) => weights[token] > 0 && weights[token] >= minP);
  const sum = sumOf(likely);
  return { tokens: Int32Array.from(likely), probabilities: Float64Array.from(likely, (token) => weights[token] / sum) };
}

/** Tokens of at least this weight, the heaviest first; of equal ones the lower id. */
function sortedAbove(weights: Float64Array, atLeast: number): number[] {
  const found: number[] = [];
  for (let i = 0; i < weights.length; i++) if (weights[i] >= atLeast) found.push(i);
  return found.sort((a, b) => weights[b] - weights[a] || a - b);
}

/** Hoare's selection: no need to sort fifty thousand tokens for the best forty. */
function kthLargest(weights: Float64Array, k: number): number {
  const values = weights.slice();
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const pivot = values[(low + high) >> 1];
    let [i, j] = [low, high];
    while (i <= j) {
      while (values[i] > pivot) i++;
      while (values[j] < pivot) j--;
      if (i <= j) {
        [values[i], values[j]] = [values[j], values[i]];
        i++;
        j--;
      }
    }
    if (k - 1 <= j) high = j;
    else if (k - 1 >= i) low = i;
    else break;
  }
  return values[k - 1];
}

/** The fewest of the first tokens that together have this weight; one at least. */
function nucleus(weights: Float64Array, order: readonly number[], wanted: number): readonly number[] {
  let sum = 0;
  const enough = order.findIndex((token) => {
    sum += weights[token];
    return sum >= wanted;
  });
  return enough < 0 ? order : order.slice(0, enough + 1);
}

/** One of the candidates, by a number from [0, 1). */
export function drawToken({ tokens, probabilities }: Candidates, uniform: number): number {
  let sum = 0;
  for (let i = 0; i < tokens.length; i++) {
    sum += probabilities[i];
    if (uniform < sum) return tokens[i];
  }
  return tokens[tokens.length - 1];
}

/** The place of the largest number, the first if there are several. */
export function highest(numbers: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < numbers.length; i++) if (numbers[i] > numbers[best]) best = i;
  return best;
}
