import { NonFiniteError } from "../base/errors.ts";
import { adjustedScores, type Before, candidates, drawToken, notNumbers, type Sampling } from "./sampling.ts";

// Choosing a token without sorting a vocabulary. All filters leave the first of the tokens in their order (likeliest first, of equal ones
// the lower id), so what is needed are sums over that order, and the order itself only around the places where something is decided.

/** Tokens are put into bins by how far they are below the likeliest. The last one is for those that are further away than this. */
const bins = 2049;
const last = bins - 1;
const furthest = 64;

/** Sums in another order differ in their last digits. Closer than this to a border, as a share of all, the slow way decides. */
const doubt = 1e-9;

/** Below this a bin would hold more than a weight can tell apart; few tokens have any weight then. */
const coldest = 1e-6;

/** The token that `drawToken(candidates(…))` gives, always, in a fraction of its time where many tokens are possible. */
export function chooseToken(scores: Float32Array, settings: Sampling, uniform: number, before: Before = {}): number {
  const { adjusted, best } = adjustedScores(scores, settings, before);
  if (settings.temperature === 0) return best;
  const found = settings.temperature < coldest ? undefined : quickly(adjusted, adjusted[best], settings, uniform);
  return found ?? drawToken(candidates(scores, settings, before.ids, before), uniform);
}

/** Where a first part of all tokens in their order ends: after so many, which weigh so much together. */
interface Cut {
  readonly count: number;
  readonly sum: number;
}

function quickly(scores: Float32Array, most: number, { temperature, topK, topP, minP }: Sampling, uniform: number): number | undefined {
  const binned = new Binned(scores, most, temperature);
  const { total } = binned;
  if (!(total > 0)) throw new NonFiniteError(notNumbers);
  const few = topK > 0 && topK < scores.length;
  let cut: Cut = few ? binned.first(topK) : { count: scores.length, sum: total };
  if (topP < 1) {
    const nucleus = binned.reaching(topP * cut.sum);
    if (!nucleus) return undefined;
    if (nucleus.count < cut.count) cut = nucleus;
  }
  if (minP > 0) {
    const likely = binned.above(minP);
    if (likely.count < cut.count) cut = likely;
  }
  return binned.at(uniform * cut.sum, cut.count);
}

/** The tokens of one bin, the heaviest first, and what each of them weighs. */
interface Order {
  readonly tokens: readonly number[];
  readonly weights: readonly number[];
}

class Binned {
  readonly #scores: Float32Array;
  readonly #most: number;
  readonly #temperature: number;
  /** Bins for each unit of a score. */
  readonly #scale: number;
  /** How wide a bin is, as a difference of logarithms: 1/32 at most. */
  readonly #width: number;
  readonly #sums = new Float64Array(bins);
  readonly #counts = new Int32Array(bins);
  readonly #orders = new Map<number, Order>();
  readonly total: number;

  constructor(scores: Float32Array, most: number, temperature: number) {
    const span = Math.max(spanOf(scores, most, furthest * temperature), furthest / 1e6);
    const width = span / temperature / last;
    const scale = last / span;
    const both = filled(scores, most, temperature, scale, width);
    for (let bin = 0; bin < bins; bin++) {
      this.#sums[bin] = both[2 * bin] * (bin < last ? Math.exp(-(bin + 0.5) * width) : 1);
      this.#counts[bin] = both[2 * bin + 1];
    }
    this.#scores = scores;
    this.#most = most;
    this.#temperature = temperature;
    this.#scale = scale;
    this.#width = width;
    this.total = this.#sums.reduce((sum, weight) => sum + weight, 0); // relative to the likeliest, which has 1
  }

  /** The first so many. */
  first(count: number): Cut {
    let [found, sum] = [0, 0];
    for (let bin = 0; bin < bins; bin++) {
      if (found + this.#counts[bin] >= count) {
        for (const weight of this.#order(bin).weights.slice(0, count - found)) sum += weight;
        break;
      }
      found += this.#counts[bin];
      sum += this.#sums[bin];
    }
    return { count, sum };
  }

  /** The fewest that together have this weight; none where that is in doubt. */
  reaching(wanted: number): Cut | undefined {
    const near = doubt * this.total;
    let [count, sum] = [0, 0];
    for (let bin = 0; bin < bins; bin++) {
      if (sum + this.#sums[bin] < wanted - near) {
        count += this.#counts[bin];
        sum += this.#sums[bin];
        continue;
      }
      for (const weight of this.#order(bin).weights) {
        sum += weight;
        count++;
        if (Math.abs(sum - wanted) <= near) return undefined;
        if (sum > wanted) return { count, sum };
      }
    }
    return undefined;
  }

  /** Those of at least this weight. */
  above(least: number): Cut {
    let [count, sum] = [0, 0];
    for (let bin = 0; bin < bins; bin++) {
      if (this.#counts[bin] === 0) continue;
      const isWhole = bin < last && Math.exp(-(bin + 1) * this.#width) > least * (1 + doubt); // its lightest is heavier
      const { weights } = isWhole ? { weights: [] } : this.#order(bin);
      const enough = weights.filter((weight) => weight >= least);
      count += isWhole ? this.#counts[bin] : enough.length;
      sum += isWhole ? this.#sums[bin] : enough.reduce((all, weight) => all + weight, 0);
      if (!isWhole && enough.length < weights.length) break;
    }
    return { count, sum };
  }

  /** The token among the first so many in whose share this weight falls; none where that is in doubt. */
  at(wanted: number, count: number): number | undefined {
    const near = doubt * this.total;
    let [found, sum] = [0, 0];
    for (let bin = 0; bin < bins && found < count; bin++) {
      if (sum + this.#sums[bin] < wanted - near) {
        found += this.#counts[bin];
        sum += this.#sums[bin];
        continue;
      }
      const { tokens, weights } = this.#order(bin);
      for (const [i, token] of tokens.entries()) {
        const isLast = ++found === count;
        sum += weights[i];
        if (Math.abs(sum - wanted) <= near) return undefined;
        if (sum > wanted) return token;
        if (isLast) return undefined;
      }
    }
    return undefined;
  }

  /** The heaviest first; of equal ones the lower id. */
  #order(bin: number): Order {
    const known = this.#orders.get(bin);
    if (known) return known;
    const found = this.#inBin(bin).map((token) => ({ token, weight: Math.exp((this.#scores[token] - this.#most) / this.#temperature) }));
    found.sort((a, b) => b.weight - a.weight || a.token - b.token);
    const order = { tokens: found.map(({ token }) => token), weights: found.map(({ weight }) => weight) };
    this.#orders.set(bin, order);
    return order;
  }

  #inBin(bin: number): number[] {
    const [scores, most, scale] = [this.#scores, this.#most, this.#scale];
    const found: number[] = [];
    for (let token = 0; token < scores.length; token++) {
      const x = (most - scores[token]) * scale;
      if (x < last ? (x | 0) === bin : bin === last) found.push(token);
    }
    return found;
  }
}

/**
 * For each bin the sum of its weights, relative to one in its middle, and after it their number: side by side, for memory is what takes
 * time here. The series of e^r from the middle of a bin is right to 1e-11, and three times as fast as Math.exp.
 */
function filled(scores: Float32Array, most: number, temperature: number, scale: number, width: number): Float64Array {
  const both = new Float64Array(2 * bins);
  for (let i = 0; i < scores.length; i++) {
    const x = (most - scores[i]) * scale;
    if (x < last) {
      const bin = x | 0;
      const r = (bin + 0.5 - x) * width;
      both[2 * bin] += 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24))));
      both[2 * bin + 1]++;
    } else {
      both[2 * last] += Math.exp((scores[i] - most) / temperature);
      both[2 * last + 1]++;
    }
  }
  return both;
}

/** How far scores lie below the highest, at most so far. Some of them will do, if they are not all further away: the others are in the last bin. */
function spanOf(scores: Float32Array, most: number, bound: number): number {
  let found = 0;
  for (let step = 16; step > 0 && found === 0; step = step === 16 ? 1 : 0)
    for (let i = 0; i < scores.length; i += step) {
      const below = most - scores[i];
      if (below > found && below <= bound) found = below;
    }
  return found;
}
