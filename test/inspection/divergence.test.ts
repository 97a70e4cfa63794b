import { expect, it } from "vitest";
import { divergenceOf } from "../../src/inspection/divergence.ts";

const logs = (...all: number[]): number[] => all.map(Math.log);

it("is 0 of equal answers, and what the formula says of others", () => {
  expect(divergenceOf(logs(0.5, 0.5), logs(0.5, 0.5))).toBe(0);
  expect(divergenceOf(logs(0.5, 0.5), logs(0.25, 0.75))).toBeCloseTo(0.5 * Math.log(2) + 0.5 * Math.log(2 / 3), 12);
});

it("counts the absence of labels that stand each for itself", () => {
  // A label that was nearly sure not to be there and now is half there: seen from the label alone the sum would be below 0.
  const [before, after] = [logs(0.01), logs(0.5)];
  expect(divergenceOf(before, after)).toBe(0);
  expect(divergenceOf(before, after, "apart")).toBeCloseTo(0.01 * Math.log(0.02) + 0.99 * Math.log(1.98), 12);
  expect(Number.isFinite(divergenceOf([0], logs(0.5), "apart"))).toBe(true);
  expect(Number.isFinite(divergenceOf(logs(0.5), [0], "apart"))).toBe(true);
});
