import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import { editDistance, errorRate, exactMatch } from "../../src/metrics/edits.ts";

const distance = (a: string, b: string): number => editDistance([...a], [...b]);
const short = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 7 });

/** The definition, without any table. */
function slow(a: readonly number[], b: readonly number[]): number {
  if (a.length === 0 || b.length === 0) return a.length + b.length;
  const replaced = slow(a.slice(1), b.slice(1)) + (a[0] === b[0] ? 0 : 1);
  return Math.min(replaced, slow(a.slice(1), b) + 1, slow(a, b.slice(1)) + 1);
}

describe("the edit distance", () => {
  it("counts insertions, deletions and replacements", () => {
    expect(distance("kitten", "sitting")).toBe(3);
    expect(distance("", "abc")).toBe(3);
    expect(distance("abc", "")).toBe(3);
    expect(distance("same", "same")).toBe(0);
    expect(distance("ab", "ba")).toBe(2);
    expect(distance("aa", "aaaa")).toBe(2);
  });

  it("is what its definition says", () => {
    fc.assert(fc.property(short, short, (a, b) => editDistance(a, b) === slow(a, b)));
  });

  it("is the same both ways and no longer by a detour", () => {
    fc.assert(
      fc.property(short, short, short, (a, b, c) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, c)).toBeLessThanOrEqual(editDistance(a, b) + editDistance(b, c));
      }),
    );
  });
});

it("the error rate divides all edits by all units of the references", () => {
  const words = (line: string): string[] => line.split(" ");
  // 1 of 3 words replaced, 2 words too many beside 1: 3 edits for 4 words
  expect(errorRate([words("a b x"), words("d e f")], [words("a b c"), words("d")])).toBe(3 / 4);
  expect(errorRate([words("a b c")], [words("a")])).toBe(2);
  expect(errorRate([[]], [[]])).toBe(0);
  expect(() => errorRate([], [])).toThrow(DataError);
});

it("an exact match is letter for letter", () => {
  expect(exactMatch(["a", "b ", "c", "é"], ["a", "b", "C", "é"])).toBe(0.5);
  expect(() => exactMatch(["a"], ["a", "b"])).toThrow("1 answers cannot be compared with 2 references; give one for each");
});
