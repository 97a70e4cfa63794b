import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { ConfigError } from "../../src/base/errors.ts";
import type { Classified } from "../../src/text/examples.ts";
import { splitByHash, withoutDuplicates } from "../../src/text/split.ts";

const classified = fc.record({ text: fc.string({ maxLength: 2 }), label: fc.constantFrom("a", "b") });
const many = fc.array(classified, { maxLength: 30 });
const fraction = fc.double({ min: 0, max: 0.99, noNaN: true });
const keys = (examples: readonly Classified[]): string[] => examples.map(({ text, label }) => JSON.stringify([text, label])).sort();
const texts = (examples: readonly Classified[]): Set<string> => new Set(examples.map(({ text }) => text));

describe("duplicates", () => {
  it("are equal in input and answer, wherever they stand", () => {
    const first = { text: "a", label: "x", file: "one.tsv", line: 2 };
    const again = { text: "a", label: "x", file: "two.tsv", line: 9 };
    expect(withoutDuplicates([first, again, { text: "a", label: "y" }])).toEqual([first, { text: "a", label: "y" }]);
    expect(
      withoutDuplicates([
        { source: "ab", target: "c" },
        { source: "a", target: "bc" },
      ]).length,
    ).toBe(2);
    const tagged = [
      { text: "a", tags: ["x", "y"] },
      { text: "a", tags: ["x", "y"] },
      { text: "a", tags: ["x y"] },
    ];
    expect(withoutDuplicates(tagged)).toEqual([tagged[0], tagged[2]]);
    expect(splitByHash(tagged, 0)).toEqual({ train: [tagged[0], tagged[2]], valid: [], duplicates: 1 });
  });
});

describe("the split", () => {
  it("is a pure function of the inputs, not of their order", () => {
    fc.assert(
      fc.property(many, fraction, fc.nat(), (examples, share, seed) => {
        const order = chance(seed);
        const shuffled = examples.map((example, i) => ({ example, key: order.bits(i) })).sort((a, b) => a.key - b.key);
        const straight = splitByHash(examples, share);
        const mixed = splitByHash(
          shuffled.map(({ example }) => example),
          share,
        );
        expect(keys(mixed.valid)).toEqual(keys(straight.valid));
        expect(keys(mixed.train)).toEqual(keys(straight.train));
      }),
    );
  });

  it("loses nothing, keeps the order, and never has one input on both sides", () => {
    fc.assert(
      fc.property(many, fraction, (examples, share) => {
        const { train, valid, duplicates } = splitByHash(examples, share);
        expect(train.length + valid.length + duplicates).toBe(examples.length);
        for (const part of [train, valid]) {
          const places = part.map((example) => examples.indexOf(example));
          expect(places).toEqual(places.toSorted((a, b) => a - b));
        }
        const trained = texts(train);
        for (const text of texts(valid)) expect(trained.has(text)).toBe(false);
        const different = texts(examples).size;
        if (different > 0) expect(train.length).toBeGreaterThan(0);
        if (different > 1 && share > 0) expect(valid.length).toBeGreaterThan(0);
        if (share === 0) expect(valid).toEqual([]);
      }),
    );
  });

  it("takes about the share that was asked for", () => {
    const examples = Array.from({ length: 10_000 }, (_, i) => ({ source: `sentence ${i}`, target: "x" }));
    const { valid } = splitByHash(examples, 0.1);
    expect(valid.length).toBe(examples.filter(({ source }) => chance(0).fork("split").fork(source).uniform(0) < 0.1).length);
    expect(Math.abs(valid.length - 1000)).toBeLessThan(100);
  });

  it("refuses a share that leaves nothing to train on", () => {
    for (const share of [1, -0.1, Number.NaN]) expect(() => splitByHash([], share)).toThrow(ConfigError);
    expect(() => splitByHash([], 1)).toThrow(
      "the share of the examples to validate with is from 0 to below 1, not 1; change validFraction",
    );
  });
});
