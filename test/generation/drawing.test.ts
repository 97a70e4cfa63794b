import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { chooseToken } from "../../src/generation/drawing.ts";
import { likeliest } from "../../src/generation/likeliest.ts";
import { candidates, drawToken, type SamplingInput, sampling } from "../../src/generation/sampling.ts";
import { logSumExp } from "./whole-model.ts";

// The quick way to a token is the slow way's, whatever the settings; what is counted and what is forbidden.

const settings = fc.record({
  temperature: fc.constantFrom(0, 1e-109, 1e-7, 2e-6, 1e-3, 0.05, 0.3, 1, 2.5, 1000),
  topK: fc.constantFrom(0, 0, 1, 3, 40, 900, 5000),
  topP: fc.constantFrom(0, 0.1, 0.5, 0.9, 0.999, 1, 1),
  minP: fc.constantFrom(0, 0, 0.01, 0.5, 1),
  repetitionPenalty: fc.constantFrom(1, 1.3),
  presencePenalty: fc.constantFrom(0, 0.7, -2),
  frequencyPenalty: fc.constantFrom(0, 0.3, -1),
  bias: fc.constantFrom(new Map(), new Map([[2, -Infinity], [5, 3]])), // biome-ignore format: a table
});

it("a token is the one that drawing from all candidates gives", () => {
  const scores = fc.oneof(
    fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 7, maxLength: 60 }).map((list) => Float32Array.from(list, (n) => n / 3)), // ties
    fc
      .record({ seed: fc.nat(), length: fc.integer({ min: 7, max: 2000 }), scale: fc.constantFrom(0.01, 1, 8, 200) })
      .map(({ seed, length, scale }) => Float32Array.from({ length }, (_, i) => scale * chance(seed).normal(i))),
  );
  const uniform = fc.oneof(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.constantFrom(0, 0.25, 0.5, 0.9, 1 - 2 ** -32));
  fc.assert(
    fc.property(
      scores,
      settings,
      uniform,
      fc.array(fc.nat(6)),
      fc.option(fc.array(fc.nat(6)), { nil: undefined }),
      (from, given, u, ids, may) => {
        const before = { ids, written: ids.slice(1), allowed: may && Int32Array.of([1, ...may].reduce((bits, id) => bits | (1 << id), 0)) };
        const checked = sampling(given);
        expect(chooseToken(from, checked, u, before)).toBe(drawToken(candidates(from, checked, ids, before), u));
      },
    ),
    { numRuns: 3000 },
  );
});

it("so it is for a vocabulary of 50,000 and the draws of a seed", () => {
  for (const [name, given] of Object.entries<SamplingInput>({
    plain: {},
    p: { topP: 0.9 },
    k: { topK: 40 },
    flat: { temperature: 3, minP: 1e-4 },
  })) {
    const source = chance(7).fork(name);
    const scores = Float32Array.from({ length: 50_257 }, (_, i) => 3 * source.normal(i));
    const all = candidates(scores, sampling(given));
    for (let i = 0; i < 200; i++) expect(chooseToken(scores, sampling(given), source.uniform(i))).toBe(drawToken(all, source.uniform(i)));
  }
});

describe("penalties of what was written", () => {
  const scores = Float32Array.of(1, 2, 3);
  const gaps = (given: SamplingInput, written: number[]) => {
    const { tokens, probabilities } = candidates(scores, sampling(given), [0, 1, 2], { written });
    const of = (token: number) => Math.log(probabilities[tokens.indexOf(token)]);
    return [of(0) - of(2), of(1) - of(2)].map((value) => Number(value.toFixed(5)));
  };

  it("are taken off once, and once for each time; a prompt does not count", () => {
    expect(gaps({}, [0, 0, 1])).toEqual([-2, -1]);
    expect(gaps({ presencePenalty: 0.5 }, [0, 0, 1])).toEqual([-2.5, -1.5]);
    expect(gaps({ frequencyPenalty: 0.5 }, [0, 0, 1])).toEqual([-3, -1.5]);
    expect(gaps({ presencePenalty: 1, frequencyPenalty: -2 }, [0, 0, 1])).toEqual([1, 0]);
    expect(gaps({ presencePenalty: 2, frequencyPenalty: 2 }, [])).toEqual([-2, -1]);
  });

  it("lie from −2 to 2", () => {
    expect(() => sampling({ presencePenalty: 2.1 })).toThrow("at sampling.presencePenalty");
    expect(() => sampling({ frequencyPenalty: -3 })).toThrow("at sampling.frequencyPenalty");
  });
});

it("what is not allowed does not come, whatever its bias, and if nothing is allowed that is said", () => {
  const scores = new Float32Array(70);
  const allowed = new Int32Array(3);
  allowed[1] = (1 << 5) | (1 << 31); // 37 and 63
  const all = candidates(scores, sampling({ bias: new Map([[3, 1e6]]) }), [], { allowed });
  expect([...all.tokens]).toEqual([37, 63]);
  for (let i = 0; i < 20; i++) expect([37, 63]).toContain(chooseToken(scores, sampling(), chance(1).uniform(i), { allowed }));
  const nothing = { allowed: new Int32Array(1) }; // a list that is too short allows no more
  expect(() => chooseToken(scores, sampling(), 0.5, nothing)).toThrow("no token may come here by the form of the answer");
});

it("the likeliest are the best first, of equal ones the lower id", () => {
  const scores = Float32Array.of(1, 3, 2, 3, 0);
  const total = logSumExp(scores);
  expect(likeliest({ scores, total }, 3).map(({ token }) => token)).toEqual([1, 3, 2]);
  expect(likeliest({ scores, total }, 3)[2].logProbability).toBeCloseTo(2 - total, 6);
  expect(likeliest({ scores, total }, 0)).toEqual([]);
});
