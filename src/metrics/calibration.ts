import { DataError } from "../base/errors.ts";

// Whether a model that says 0.8 is right in eight cases of ten, and what makes it so.

const bins = 15;

/** What a model said, from 0 to 1, and whether it was so. */
export interface Claim {
  readonly confidence: number;
  readonly right: boolean;
}

/**
 * Expected calibration error (Guo et al. 2017): claims go into 15 bins of equal width by their confidence, and
 * ECE = Σ over bins of (claims in the bin / all claims) · |share that is right − mean confidence|.
 */
export function calibrationError(claims: readonly Claim[]): number {
  if (claims.length === 0) throw new DataError("no answers to score; give at least one");
  const [right, said] = [new Float64Array(bins), new Float64Array(bins)];
  for (const { confidence, right: was } of claims) {
    const bin = Math.min(bins - 1, Math.max(0, Math.ceil(confidence * bins) - 1)); // a bin has its upper end
    right[bin] += was ? 1 : 0;
    said[bin] += confidence;
  }
  return right.reduce((sum, count, bin) => sum + Math.abs(count - said[bin]), 0) / claims.length;
}

/** softmax(scores / temperature). */
export function shares(scores: ArrayLike<number>, temperature = 1): number[] {
  const scaled = Array.from(scores, (score) => score / temperature);
  const largest = scaled.reduce((a, b) => Math.max(a, b));
  const powers = scaled.map((score) => Math.exp(score - largest));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / total);
}

/** 1 / (1 + exp(−score / temperature)) of each: labels that do not exclude each other. */
export const separateShares = (scores: ArrayLike<number>, temperature = 1): number[] =>
  Array.from(scores, (score) => 1 / (1 + Math.exp(-score / temperature)));

/** The scores of one answer, and its truth: the right label of those that exclude each other, or 1 or 0 for each that does not. */
export interface Scored {
  readonly scores: ArrayLike<number>;
  readonly truth: number | ArrayLike<number>;
}

/**
 * The temperature with the smallest mean negative log-likelihood (Guo et al. 2017). As in Platt's scaling (1999), the truth of n answers
 * counts (n + 1)/(n + 2) and the rest is spread over the others, so that a few answers that are all right make no model certain.
 */
export function fittedTemperature(answers: readonly Scored[]): number {
  if (answers.length === 0) throw new DataError("no answers to fit a temperature to; give at least one");
  const doubt = 1 / (answers.length + 2);
  const loss = (inverse: number) => answers.reduce((sum, answer) => sum + lossOf(answer, inverse, doubt), 0);
  return 1 / Math.exp(minimum((power) => loss(Math.exp(power)), Math.log(1 / temperatures[1]), Math.log(1 / temperatures[0])));
}

const temperatures = [0.01, 100] as const;

/** With inverse = 1/temperature the loss is convex: of a linear function of it. */
function lossOf({ scores, truth }: Scored, inverse: number, doubt: number): number {
  if (typeof truth !== "number") {
    let sum = 0;
    for (let i = 0; i < scores.length; i++) {
      const x = inverse * scores[i];
      const wanted = truth[i] ? 1 - doubt : doubt;
      sum += Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))) - wanted * x;
    }
    return sum;
  }
  let [largest, mean] = [Number.NEGATIVE_INFINITY, 0];
  for (let i = 0; i < scores.length; i++) {
    largest = Math.max(largest, inverse * scores[i]);
    mean += (inverse * scores[i]) / scores.length;
  }
  let total = 0;
  for (let i = 0; i < scores.length; i++) total += Math.exp(inverse * scores[i] - largest);
  const others = (doubt * scores.length) / Math.max(1, scores.length - 1); // so that the truth keeps 1 − doubt of all
  return largest + Math.log(total) - (1 - others) * inverse * scores[truth] - others * mean;
}

/** Golden section: of a function with one valley. */
function minimum(f: (x: number) => number, from: number, to: number): number {
  const golden = (Math.sqrt(5) - 1) / 2;
  let [low, high] = [from, to];
  let [a, b] = [high - golden * (high - low), low + golden * (high - low)];
  let [fa, fb] = [f(a), f(b)];
  while (high - low > 1e-6) {
    if (fa <= fb) {
      [high, b, fb] = [b, a, fa];
      a = high - golden * (high - low);
      fa = f(a);
    } else {
      [low, a, fa] = [a, b, fb];
      b = low + golden * (high - low);
      fb = f(b);
    }
  }
  return (low + high) / 2;
}
