import { describe, expect, it } from "vitest";
import { countsBefore, letterCounting } from "../../src/recipes/letter-counting.ts";
import type { Tagged } from "../../src/text/examples.ts";

describe("letter counting", () => {
  it("tells for every letter how often it was there before, with 2 for more", () => {
    expect(countsBefore("abacaa b").join("")).toBe("00102201");
  });

  it("has 10,000 strings of 20 letters to train on, and 1,000 to test that are not among them", async () => {
    const data = await letterCounting.data(false);
    if (data.kind !== "examples") throw new Error("letter counting has examples");
    const [train, test] = [data.train as Tagged[], data.test as Tagged[]];
    expect([train.length, test.length]).toEqual([10_000, 1_000]);
    expect(train.every(({ text, tags }) => text.length === 20 && tags.length === 20)).toBe(true);
    const trained = new Set(train.map(({ text }) => text));
    expect(test.filter(({ text }) => trained.has(text))).toEqual([]);
    const counts = new Map<string, number>();
    for (const tag of test.flatMap(({ tags }) => tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
    for (const tag of ["0", "1", "2"]) expect(counts.get(tag)).toBeGreaterThan(4000); // no answer is right most of the time
  });
});
