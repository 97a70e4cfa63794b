import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import { type Classification, classification } from "../../src/metrics/classification.ts";

interface Case extends Classification {
  readonly truth: number[];
  readonly predicted: number[];
  readonly labels: number;
}

const reference: { classifications: Case[] } = JSON.parse(readFileSync(new URL("reference.json", import.meta.url), "utf8"));

it("gives accuracy, macro F1 and confusion, by hand", () => {
  const { accuracy, f1, confusion } = classification([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 0, 1], 3);
  expect(confusion).toEqual([
    [2, 1, 0],
    [1, 1, 0],
    [0, 1, 0],
  ]);
  expect(accuracy).toBeCloseTo(3 / 6, 12);
  expect(f1).toBeCloseTo((4 / 6 + 2 / 5 + 0) / 3, 12);
});

it("leaves labels that never occur out of F1, though not those that were only predicted", () => {
  expect(classification([0, 1], [0, 1], 5).f1).toBe(1);
  expect(classification([0, 0], [0, 3], 5).f1).toBeCloseTo((2 / 3 + 0) / 2, 12);
  expect(classification([0, 1], [0, 1], 5).confusion.length).toBe(5);
});

it("agrees with scikit-learn", () => {
  expect(reference.classifications.length).toBe(30);
  for (const { truth, predicted, labels, accuracy, f1, confusion } of reference.classifications) {
    const found = classification(truth, predicted, labels);
    expect(found.accuracy).toBeCloseTo(accuracy, 12);
    expect(found.f1).toBeCloseTo(f1, 12);
    expect(found.confusion).toEqual(confusion);
  }
});

it("refuses what is no label", () => {
  expect(() => classification([0, 2], [0, 1], 2)).toThrow(new DataError("2 is no label; labels are whole numbers from 0 to 1"));
  expect(() => classification([0], [0.5], 2)).toThrow(DataError);
  expect(() => classification([], [], 2)).toThrow(DataError);
});
