import { z } from "zod";
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

/** What is left of a distribution after penalty, bias, temperature and filters. At temperature 0 that is one token. */
export function candidates(scores: Float32Array, settings: Sampling, before: Iterable<number> = []): Candidates {
  const adjusted = adjustedScores(scores, settings, before);
  const best = highest(adjusted);
  if (adjusted[best] === Number.NEGATIVE_INFINITY) throw new ConfigError("every token is forbidden", { at: "sampling.bias" });
  if (settings.temperature === 0) return { tokens: Int32Array.of(best), probabilities: Float64Array.of(1) };
  const weights = new Float64Array(adjusted.length); // relative to the likeliest, which has 1
  let total = 0;
  for (let i = 0; i < weights.length; i++) total += weights[i] = Math.exp((adjusted[i] - adjusted[best]) / settings.temperature);
  if (!(total > 0)) throw new NonFiniteError(notNumbers);
  return filtered(weights, total, settings);
}

function adjustedScores(scores: Float32Array, { repetitionPenalty, bias }: Sampling, before: Iterable<number>): Float32Array {
  if (repetitionPenalty === 1 && bias.size === 0) return scores;
  const adjusted = scores.slice();
  if (repetitionPenalty !== 1)
    for (const token of new Set(before))
      adjusted[token] = scores[token] > 0 ? scores[token] / repetitionPenalty : scores[token] * repetitionPenalty;
  for (const [token, value] of bias) adjusted[token] += value;
  return adjusted;
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
