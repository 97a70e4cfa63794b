import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Candidates, candidates, drawToken, type SamplingInput, sampling } from "../../src/generation/sampling.ts";

/** Scores whose exponentials are 0.4, 0.3, 0.2 and 0.1, in a mixed order. */
const shares = [0.1, 0.4, 0.2, 0.3];
const scores = Float32Array.from(shares, Math.log);
const left = (settings: SamplingInput, before: number[] = [], from = scores): Candidates => candidates(from, sampling(settings), before);

function expectLeft(found: Candidates, wanted: readonly (readonly [token: number, probability: number])[]): void {
  expect([...found.tokens]).toEqual(wanted.map(([token]) => token));
  for (const [i, [, probability]] of wanted.entries()) expect(found.probabilities[i]).toBeCloseTo(probability, 6);
}

describe("what is left of a distribution", () => {
  const everything = [[1, 0.4], [3, 0.3], [2, 0.2], [0, 0.1]] as const; // biome-ignore format: a table

  it("is all of it when nothing is set, the likeliest first", () => {
    expectLeft(left({}), everything);
  });

  it("is one token at temperature 0, and next to it", () => {
    expectLeft(left({ temperature: 0 }), [[1, 1]]);
    expectLeft(left({ temperature: 1e-6 }), [[1, 1]]);
    expectLeft(left({ temperature: 0 }, [], Float32Array.of(2, 5, 5)), [[1, 1]]);
    expectLeft(left({ temperature: 0, topP: 0, topK: 3, minP: 1 }), [[1, 1]]);
  });

  it("gets sharper below temperature 1 and flat far above", () => {
    expectLeft(left({ temperature: 0.5 }), [[1, 16 / 30], [3, 9 / 30], [2, 4 / 30], [0, 1 / 30]]); // biome-ignore format: squares
    for (const probability of left({ temperature: 1000 }).probabilities) expect(probability).toBeCloseTo(0.25, 3);
  });

  it("is the k likeliest; of equal ones the lower ids", () => {
    expectLeft(left({ topK: 0 }), everything);
    expectLeft(left({ topK: 1 }), [[1, 1]]);
    expectLeft(left({ topK: 2 }), [[1, 4 / 7], [3, 3 / 7]]); // biome-ignore format: a table
    expectLeft(left({ topK: 4 }), everything);
    expectLeft(left({ topK: 1000 }), everything);
    expectLeft(left({ topK: 2 }, [], Float32Array.of(1, 1, 1, 1)), [[0, 0.5], [1, 0.5]]); // biome-ignore format: a table
  });

  it("is the fewest that together have the probability p", () => {
    expectLeft(left({ topP: 1 }), everything);
    expectLeft(left({ topP: 0 }), [[1, 1]]);
    expectLeft(left({ topP: 1e-9 }), [[1, 1]]);
    expectLeft(left({ topP: 0.39 }), [[1, 1]]);
    expectLeft(left({ topP: 0.41 }), [[1, 4 / 7], [3, 3 / 7]]); // biome-ignore format: a table
    expectLeft(left({ topP: 0.89 }), [[1, 4 / 9], [3, 3 / 9], [2, 2 / 9]]); // biome-ignore format: a table
    expectLeft(left({ topP: 0.91 }), everything);
  });

  it("is what has a share of the likeliest one's probability", () => {
    expectLeft(left({ minP: 0 }), everything);
    expectLeft(left({ minP: 0.74 }), [[1, 4 / 7], [3, 3 / 7]]); // biome-ignore format: a table
    expectLeft(left({ minP: 0.76 }), [[1, 1]]);
    expectLeft(left({ minP: 1 }), [[1, 1]]);
    expectLeft(left({ minP: 1 }, [], Float32Array.of(7, 3, 7)), [[0, 0.5], [2, 0.5]]); // biome-ignore format: a table
  });

  it("is filtered by k, then by p of what k left, then by share", () => {
    // Of 4/9, 3/9 and 2/9 the first two have 0.78; of all four they have only 0.7.
    expectLeft(left({ topK: 3, topP: 0.75 }), [[1, 4 / 7], [3, 3 / 7]]); // biome-ignore format: a table
    expectLeft(left({ topP: 0.75 }), [[1, 4 / 9], [3, 3 / 9], [2, 2 / 9]]); // biome-ignore format: a table
    expectLeft(left({ topK: 3, topP: 0.99, minP: 0.6 }), [[1, 4 / 7], [3, 3 / 7]]); // biome-ignore format: a table
  });

  it("has less of what was there before, whatever the sign of its score", () => {
    const signed = Float32Array.of(2, -1, 2, -1);
    const wanted = [2, -1, 1, -2].map(Math.exp);
    const sum = wanted.reduce((a, b) => a + b);
    expectLeft(
      left({ repetitionPenalty: 2 }, [2, 3, 3, 2], signed),
      [0, 2, 1, 3].map((token) => [token, wanted[token] / sum]),
    );
    expectLeft(left({ repetitionPenalty: 1 }, [2, 3]), everything);
    expect(signed).toEqual(Float32Array.of(2, -1, 2, -1));
  });

  it("is never nothing: scores that are not numbers are refused", () => {
    for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => left({}, [], Float32Array.of(1, wrong, 3))).toThrow("the scores are not numbers (NaN or infinity)");
    expect(() => sampling({ bias: new Map([[1, 1e39]]) })).toThrow("at sampling.bias.1:");
  });

  it("has a bias on single tokens; −∞ forbids them", () => {
    expectLeft(left({ bias: new Map([[0, Math.log(4)]]) }), [[0, 4 / 13], [1, 4 / 13], [3, 3 / 13], [2, 2 / 13]]); // biome-ignore format: a table
    expectLeft(left({ bias: new Map([[1, -Infinity]]) }), [[3, 0.5], [2, 1 / 3], [0, 1 / 6]]); // biome-ignore format: a table
    expectLeft(left({ temperature: 0, bias: new Map([[1, -Infinity]]) }), [[3, 1]]);
    expect(() => left({ bias: new Map([0, 1, 2, 3].map((token) => [token, -Infinity])) })).toThrow("every token is forbidden");
  });
});

describe("settings", () => {
  it.each([
    [{ temperature: -1 }, "at sampling.temperature: a number from 0 to 1,000 is wanted, not -1"],
    [{ temperature: Number.NaN }, "at sampling.temperature: a number from 0 to 1,000 is wanted, not NaN"],
    [{ topK: 1.5 }, "at sampling.topK: a whole number"],
    [{ topP: 1.01 }, "at sampling.topP: a number from 0 to 1 is wanted, not 1.01"],
    [{ topP: -0.1 }, "at sampling.topP"],
    [{ minP: 2 }, "at sampling.minP"],
    [{ repetitionPenalty: 0 }, "at sampling.repetitionPenalty"],
    [{ bias: new Map([[-1, 1]]) }, "at sampling.bias"],
    [{ bias: new Map([[1, Number.NaN]]) }, "at sampling.bias"],
    [{ temprature: 0.5 }, 'at sampling.temprature: unknown key; did you mean "temperature"?'],
  ])("that make no sense are refused: %o", (settings, sentence) => {
    expect(() => sampling(settings as SamplingInput)).toThrow(sentence);
  });
});

/** The same, slowly and obviously: whole sorted lists, one rule after the other. */
function obvious(from: Float32Array, settings: SamplingInput, before: number[]): [token: number, probability: number][] {
  const { temperature = 1, topK = 0, topP = 1, minP = 0, repetitionPenalty = 1, bias = new Map<number, number>() } = settings;
  const adjusted = Array.from(from, (score, token) => {
    const penalised = !before.includes(token) ? score : score > 0 ? score / repetitionPenalty : score * repetitionPenalty;
    return Math.fround(Math.fround(penalised) + (bias.get(token) ?? 0));
  });
  const most = Math.max(...adjusted);
  const shared = (list: [number, number][]): [number, number][] => {
    const sum = list.reduce((total, [, weight]) => total + weight, 0);
    return list.map(([token, weight]) => [token, weight / sum]);
  };
  let list = shared(adjusted.map((score, token) => [token, Math.exp((score - most) / temperature)]));
  list.sort(([a, x], [b, y]) => y - x || a - b);
  if (topK > 0) list = shared(list.slice(0, topK));
  let sum = 0;
  list = list.filter(([, probability], i) => {
    const wanted = i === 0 || topP === 1 || sum < topP;
    sum += probability;
    return wanted;
  });
  return shared(list.filter(([, probability]) => probability > 0 && probability >= minP * list[0][1]));
}

it("any settings: probabilities sum to 1, fall, and are those of the slow way", () => {
  // Whole thirds keep the borders of p and of shares away from rounding.
  const anyScores = fc.array(fc.integer({ min: -30, max: 30 }), { minLength: 1, maxLength: 40 });
  const settings = fc.record({
    temperature: fc.constantFrom(0.3, 1, 2.5),
    topK: fc.integer({ min: 0, max: 45 }),
    topP: fc.constantFrom(0, 0.0137, 0.317, 0.713, 0.977, 1),
    minP: fc.constantFrom(0, 0.0137, 0.117, 0.713, 1),
    repetitionPenalty: fc.constantFrom(1, 1.3, 0.7),
    bias: fc.dictionary(fc.constantFrom("0", "3", "7"), fc.constantFrom(-Infinity, -1.5, 2)),
  });
  fc.assert(
    fc.property(anyScores, settings, fc.array(fc.integer({ min: 0, max: 39 })), (numbers, { bias, ...rest }, said) => {
      const from = Float32Array.from(numbers, (n) => n / 3);
      const biases = Object.entries(bias).map(([token, value]) => [Number(token), value] as const);
      const all = { ...rest, bias: new Map(biases.filter(([token, value]) => token < from.length && (token > 0 || value > -Infinity))) };
      const before = said.filter((token) => token < from.length);
      const found = left(all, before, from);
      const wanted = obvious(from, all, before);
      expect([...found.tokens]).toEqual(wanted.map(([token]) => token));
      for (const [i, [, probability]] of wanted.entries()) expect(found.probabilities[i]).toBeCloseTo(probability, 9);
      expect(found.probabilities.reduce((sum, probability) => sum + probability)).toBeCloseTo(1, 12);
      for (let i = 1; i < found.tokens.length; i++) expect(found.probabilities[i]).toBeLessThanOrEqual(found.probabilities[i - 1]);
      for (const token of found.tokens) expect(all.bias.get(token)).not.toBe(-Infinity);
      if (all.topK > 0) expect(found.tokens.length).toBeLessThanOrEqual(all.topK);
    }),
    { numRuns: 1000 },
  );
});

it("a number from 0 to 1 chooses the token whose share it falls into", () => {
  const found = left({});
  expect([0, 0.399, 0.401, 0.699, 0.701, 0.899, 0.901, 1 - 2 ** -32].map((uniform) => drawToken(found, uniform))).toEqual([
    1, 1, 3, 3, 2, 2, 0, 0,
  ]);
});
