import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { candidates, drawToken, type SamplingInput, sampling } from "../../src/generation/sampling.ts";

// 100,000 draws with each filter against the distribution that it leaves. The draws are the same each time, so nothing here flakes.

const count = 100_000;
const scores = Float32Array.from({ length: 50 }, (_, i) => 1.5 * chance(3).normal(i));
const settings: Record<string, SamplingInput> = {
  "nothing set": {},
  "a low temperature": { temperature: 0.5 },
  "a high temperature": { temperature: 3 },
  "top-k": { topK: 10 },
  "top-p": { topP: 0.8 },
  "min-p": { minP: 0.1 },
  "a repetition penalty": { repetitionPenalty: 1.5 },
  "a bias": { bias: new Map([[4, 2], [7, -Infinity]]) }, // biome-ignore format: a table
  "all of them": { temperature: 1.3, topK: 30, topP: 0.9, minP: 0.02, repetitionPenalty: 1.2, bias: new Map([[4, 1]]) },
};

/** The distribution by the definition: what is left, from all scores, normalised once more. */
function expected(given: SamplingInput, before: readonly number[], kept: ReadonlySet<number>): Float64Array {
  const { temperature = 1, repetitionPenalty = 1, bias = new Map<number, number>() } = given;
  const weights = Float64Array.from(scores, (score, token) => {
    if (!kept.has(token)) return 0;
    const penalised = before.includes(token) ? (score > 0 ? score / repetitionPenalty : score * repetitionPenalty) : score;
    return Math.exp((penalised + (bias.get(token) ?? 0)) / temperature);
  });
  const sum = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / sum);
}

/** P(χ² > found), by the Wilson–Hilferty approximation, good to three digits where it matters. */
function pValue(found: number, freedom: number): number {
  const z = (Math.cbrt(found / freedom) - (1 - 2 / (9 * freedom))) / Math.sqrt(2 / (9 * freedom));
  return 0.5 * erfc(z / Math.SQRT2);
}

/** Abramowitz and Stegun 7.1.26. */
function erfc(x: number): number {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) * Math.exp(-x * x);
  return x < 0 ? 2 - tail : tail;
}

describe("100,000 draws match the distribution", () => {
  it.each(Object.entries(settings))("with %s", (name, given) => {
    const before = [0, 1, 2, 3, 4, 5];
    const left = candidates(scores, sampling(given), before);
    const source = chance(1).fork("draws").fork(name);
    const drawn = new Float64Array(scores.length);
    for (let i = 0; i < count; i++) drawn[drawToken(left, source.uniform(i))]++;
    const wanted = expected(given, before, new Set(left.tokens));
    // Tokens that are expected fewer than ten times are counted together.
    const bins = [...wanted.keys()].filter((token) => wanted[token] * count >= 10).map((token) => [drawn[token], wanted[token] * count]);
    const rare = bins.reduce(([found, sum], [a, b]) => [found - a, sum - b], [count, count]);
    const all = rare[1] > 10 ? [...bins, rare] : bins;
    const chiSquared = all.reduce((sum, [found, times]) => sum + (found - times) ** 2 / times, 0);
    expect(all.length).toBeGreaterThan(4);
    expect(pValue(chiSquared, all.length - 1)).toBeGreaterThan(0.01);
    for (const [token, probability] of wanted.entries()) if (probability === 0) expect(drawn[token]).toBe(0);
  });

  it("and this test would see a share that is wrong by a hundredth", () => {
    const left = candidates(scores, sampling({ topK: 10 }));
    const bent = { ...left, probabilities: left.probabilities.map((p, i) => (i === 0 ? p - 0.01 : i === 1 ? p + 0.01 : p)) };
    const drawn = new Map<number, number>();
    for (let i = 0; i < count; i++) {
      const token = drawToken(bent, chance(2).uniform(i));
      drawn.set(token, (drawn.get(token) ?? 0) + 1);
    }
    const chiSquared = [...left.tokens].reduce((sum, token, i) => {
      const times = left.probabilities[i] * count;
      return sum + ((drawn.get(token) ?? 0) - times) ** 2 / times;
    }, 0);
    expect(pValue(chiSquared, left.tokens.length - 1)).toBeLessThan(1e-6);
  });
});
