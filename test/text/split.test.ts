import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { ConfigError } from "../../src/base/errors.ts";
import { atOnce } from "../../src/base/turns.ts";
import { contradictions as contradicting, fewest, smallClasses as namingSmall } from "../../src/text/classes.ts";
import type { Classified, Example, SeveralLabelled } from "../../src/text/examples.ts";
import { type SplitRule, splitByClass, splitByHash, splittingExamples, withoutDuplicates } from "../../src/text/split.ts";

const contradictions = (examples: readonly Example[]) => atOnce(contradicting(examples));
const smallClasses = (parts: Parameters<typeof namingSmall>[0]) => atOnce(namingSmall(parts));
const splitExamples = <E extends Example>(examples: readonly E[], fraction: number, rule: SplitRule) =>
  atOnce(splittingExamples(examples, fraction, rule));

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

describe("the split by class", () => {
  // Every text has one label here: what several labels for one text change is below.
  const skewed = fc
    .array(fc.record({ number: fc.nat(200), label: fc.constantFrom("a", "a", "a", "a", "a", "a", "b", "b", "c") }), { maxLength: 60 })
    .map((list) => list.map(({ number, label }): Classified => ({ text: `${label} ${number}`, label })));
  const share = fc.double({ min: 0.01, max: 0.9, noNaN: true });
  const byLabel = (examples: readonly Classified[], label: string) => texts(examples.filter((example) => example.label === label)).size;
  const shuffled = <E>(examples: readonly E[], seed: number): E[] => {
    const order = chance(seed);
    return examples
      .map((example, i) => ({ example, key: order.bits(i) }))
      .sort((a, b) => a.key - b.key)
      .map(({ example }) => example);
  };

  it("is a pure function of the examples, not of their order, also where texts have several classes", () => {
    fc.assert(
      fc.property(fc.oneof(skewed, many), share, fc.nat(), (examples, fraction, seed) => {
        const [straight, mixed] = [splitByClass(examples, fraction), splitByClass(shuffled(examples, seed), fraction)];
        expect(keys(mixed.valid)).toEqual(keys(straight.valid));
        expect(keys(mixed.train)).toEqual(keys(straight.train));
        const trained = texts(straight.train);
        for (const text of texts(straight.valid)) expect(trained.has(text)).toBe(false);
        expect(straight.train.length + straight.valid.length + straight.duplicates).toBe(examples.length);
      }),
    );
  });

  it("holds out the share of every class, rounded, and has every class of five in both parts", () => {
    fc.assert(
      fc.property(skewed, share, (examples, fraction) => {
        const { train, valid } = splitByClass(examples, fraction);
        for (const label of ["a", "b", "c"]) {
          const all = byLabel(examples, label);
          const held = byLabel(valid, label);
          expect(byLabel(train, label)).toBe(all - held);
          if (all >= fewest) {
            expect(held).toBeGreaterThan(0);
            expect(held).toBeLessThan(all);
          }
          if (all > 0) expect(Math.abs(held - all * fraction)).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  it("moves at most one other example when one comes in, and none of another class", () => {
    fc.assert(
      fc.property(skewed, share, fc.nat(200), (examples, fraction, number) => {
        const added = { text: `b new ${number}`, label: "b" };
        const [before, after] = [splitByClass(examples, fraction), splitByClass([...examples, added], fraction)];
        const was = texts(before.valid);
        const moved = [...texts(examples)].filter((text) => was.has(text) !== texts(after.valid).has(text));
        expect(moved.length).toBeLessThanOrEqual(1);
        expect(moved.filter((text) => !text.startsWith("b"))).toEqual([]);
      }),
    );
  });

  it("takes those with the lowest hashes: by hand", () => {
    const examples = Array.from({ length: 20 }, (_, i): Classified => ({ text: `text ${i}`, label: i < 15 ? "often" : "rare" }));
    const hash = ({ text }: Classified) => chance(0).fork("split").fork(text).uniform(0);
    const lowest = (label: string, count: number) =>
      examples
        .filter((example) => example.label === label)
        .sort((a, b) => hash(a) - hash(b))
        .slice(0, count);
    const { valid } = splitByClass(examples, 0.2);
    expect(keys(valid)).toEqual(keys([...lowest("often", 3), ...lowest("rare", 1)]));
  });

  it("has every label of texts with several in both parts, where five have it", () => {
    const sets = fc.array(
      fc.record({ text: fc.nat(80).map(String), labels: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 3 }) }),
    );
    fc.assert(
      fc.property(sets, fc.nat(), (given, seed) => {
        const examples: SeveralLabelled[] = [...new Map(given.map((example) => [example.text, example])).values()];
        const { train, valid } = splitByClass(examples, 0.2);
        const has = (part: readonly SeveralLabelled[], label: string) => part.filter(({ labels }) => labels.includes(label)).length;
        const left = smallClasses({ train, valid }).join("\n");
        for (const label of ["a", "b", "c"]) {
          if (has(examples, label) < fewest || left.includes("on one side")) continue;
          expect(has(train, label)).toBeGreaterThan(0);
          expect(has(valid, label)).toBeGreaterThan(0);
        }
        expect(
          splitByClass(shuffled(examples, seed), 0.2)
            .valid.map(({ text }) => text)
            .sort(),
        ).toEqual(valid.map(({ text }) => text).sort());
      }),
    );
  });

  it("is that of classes only: tags, pairs and the old rule go by hash", () => {
    const pairs = Array.from({ length: 30 }, (_, i) => ({ source: `${i}`, target: "x" }));
    expect(splitExamples(pairs, 0.2, "stratified")).toEqual(splitByHash(pairs, 0.2));
    const examples = Array.from({ length: 30 }, (_, i) => ({ text: `${i}`, label: "x" }));
    expect(splitExamples(examples, 0.2, "hash")).toEqual(splitByHash(examples, 0.2));
    expect(splitExamples(examples, 0.2, "stratified").valid).toHaveLength(6);
    expect(splitByClass(examples, 0).valid).toEqual([]);
    expect(() => splitByClass(examples, 1)).toThrow("from 0 to below 1, not 1; change validFraction");
  });

  it("names the classes that are too small", () => {
    const of = (label: string, count: number) => Array.from({ length: count }, (_, i): Classified => ({ text: `${label}${i}`, label }));
    expect(smallClasses(splitByClass([...of("a", 20), ...of("b", 4), ...of("c", 1)], 0.1))).toEqual([
      '2 classes have fewer than 5 examples, too few to be surely trained on and validated with: "c" (1), "b" (4)',
    ]);
    expect(smallClasses(splitByClass([...of("a", 20), ...of("b", 5)], 0.1))).toEqual([]);
  });
});

describe("contradictions", () => {
  it("are equal texts with different labels: how many, and where one is", () => {
    const at = (line: number, text: string, label: string): Classified => ({ text, label, file: "t.tsv", line });
    expect(contradictions([at(2, "late", "a"), at(3, "late", "a"), at(4, "new", "a")])).toEqual([]);
    expect(contradictions([at(2, "late", "a"), at(3, "late", "b"), at(4, "late", "c")])).toEqual([
      '1 text has different labels in different places, such as "late": t.tsv, line 2 "a", t.tsv, line 3 "b"',
    ]);
    expect(
      contradictions([
        { text: "x", labels: ["a", "b"] },
        { text: "x", labels: ["b", "a"] },
      ]),
    ).toEqual([]);
    expect(
      contradictions([
        { text: "x", labels: ["a"] },
        { text: "x", labels: [] },
      ])[0],
    ).toMatch(/such as "x": "a", no label$/);
  });
});
