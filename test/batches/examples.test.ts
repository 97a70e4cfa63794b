import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { bucketLengths } from "../../src/batches/buckets.ts";
import { labelledLayout, pairLayout, scoringBatches, taggedLayout, trainingBatches } from "../../src/batches/examples.ts";

const sequence = (length: number, id: number) => new Int32Array(length).fill(id);
/** Examples whose ids say which they are. */
const labelled = (lengths: readonly number[]) => lengths.map((length, i) => ({ ids: sequence(length, i + 1), label: i }));

const placesWith = (lengths: readonly number[], buckets: readonly number[]) =>
  lengths.reduce((total, length) => total + (buckets.find((size) => length <= size) ?? Number.NaN), 0);

/** The best that any choice of so many buckets could do. */
function fewestPlaces(lengths: readonly number[], count: number): number {
  const different = [...new Set(lengths)].sort((a, b) => a - b);
  const longest = different.at(-1) as number;
  const choices = (from: number, left: number): number[][] =>
    left === 0 ? [[]] : different.slice(from).flatMap((size, i) => choices(from + i + 1, left - 1).map((rest) => [size, ...rest]));
  const all = Array.from({ length: count }, (_, k) => choices(0, k)).flat();
  return Math.min(...all.map((buckets) => placesWith(lengths, [...buckets, longest])));
}

describe("the lengths of buckets", () => {
  it("leave the least padding that is possible", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 3 }),
        (lengths, count) => {
          const buckets = bucketLengths(lengths, count);
          expect(buckets.length).toBeLessThanOrEqual(count);
          expect(placesWith(lengths, buckets)).toBe(fewestPlaces(lengths, count));
        },
      ),
    );
  });

  it("fit the longest of ten thousand different lengths", () => {
    const lengths = Array.from({ length: 10_000 }, (_, i) => i + 1);
    expect(bucketLengths(lengths, 8).at(-1)).toBe(10_000);
  });
});

describe("batches of examples", () => {
  const lengths = Array.from({ length: 50 }, (_, i) => 1 + chance(2).integer(i, 30));

  it.each(["few", "any"] as const)("have every example once an epoch, in another order each time (%s shapes)", (shapes) => {
    const batches = trainingBatches(labelled(lengths), labelledLayout, { batch: 4, shapes }, chance(1));
    const epoch = (number: number) =>
      Array.from({ length: batches.perEpoch }, (_, i) => [
        ...(batches.batch(number * batches.perEpoch + i).feeds.targets.data as Int32Array),
      ])
        .flat()
        .filter((label) => label >= 0);
    for (const number of [0, 1]) expect([...epoch(number)].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(epoch(0)).not.toEqual(epoch(1));
  });

  it("pad to the bucket and tell the lengths", () => {
    const batch = labelledLayout.batch(labelled([2, 3]), 3, [4]);
    expect([...batch.feeds.ids.data]).toEqual([1, 1, 0, 0, 2, 2, 2, 0, 0, 0, 0, 0]);
    expect([...batch.feeds.lengths.data]).toEqual([2, 3, 0]);
    expect([...batch.feeds.targets.data]).toEqual([0, 1, -1]);
    expect(batch.targets).toBe(2);
    expect(batch.tokens).toBe(5);
  });

  it("ignore the tags and targets of padding", () => {
    const tagged = taggedLayout.batch([{ ids: Int32Array.of(5, 6), tags: Int32Array.of(1, -1) }], 1, [3]);
    expect([...tagged.feeds.targets.data]).toEqual([1, -1, -1]);
    expect(tagged.targets).toBe(1);
    expect(tagged.tokens).toBe(2);
    const pair = { source: Int32Array.of(7), target: Int32Array.of(1, 8), targets: Int32Array.of(8, 2) };
    const pairs = pairLayout.batch([pair], 1, [2, 3]);
    expect([...pairs.feeds.source.data]).toEqual([7, 0]);
    expect([...pairs.feeds.target.data]).toEqual([1, 8, 0]);
    expect([...pairs.feeds.targets.data]).toEqual([8, 2, -1]);
    expect(pairs.places).toBe(5);
  });

  it("report the share of padding, which buckets keep small", () => {
    const many = labelled(Array.from({ length: 2000 }, (_, i) => 1 + chance(3).integer(i, 60)));
    const padding = (shapes: "few" | "any") => trainingBatches(many, labelledLayout, { batch: 16, shapes }, chance(1)).padding;
    expect(padding("few")).toBeLessThan(0.2);
    expect(padding("any")).toBeLessThan(0.05);
    const counted = trainingBatches(labelled([1, 3]), labelledLayout, { batch: 2, shapes: "any" }, chance(1)).padding;
    expect(counted).toBeCloseTo(2 / 6, 12); // both are padded to 3
  });

  it("keep few shapes where each costs a session", () => {
    const pairs = Array.from({ length: 1000 }, (_, i) => {
      const source = sequence(1 + chance(4).integer(i, 40), 1);
      const target = sequence(1 + chance(5).integer(i, 40), 1);
      return { source, target, targets: target };
    });
    const batches = trainingBatches(pairs, pairLayout, { batch: 8, shapes: "few" }, chance(1));
    const shapes = new Set(
      Array.from({ length: batches.perEpoch }, (_, i) => batches.batch(i)).map(
        ({ feeds }) => `${feeds.source.shape} ${feeds.target.shape}`,
      ),
    );
    expect(shapes.size).toBeLessThanOrEqual(8);
  });

  it("refuse fewer examples than a batch", () => {
    expect(() => trainingBatches(labelled([1, 2]), labelledLayout, { batch: 3, shapes: "any" }, chance(1))).toThrow(
      "there are 2 examples to train on, fewer than a batch of 3; give more, or a smaller batch",
    );
  });

  it("are all there once when they are only scored, each with its place", () => {
    const found = [...scoringBatches(labelled(lengths), labelledLayout, { batch: 8, shapes: "any" })];
    expect(found.flatMap(({ members }) => members).sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    for (const { feeds, members } of found) expect([...feeds.targets.data].slice(0, members.length)).toEqual(members);
  });
});
