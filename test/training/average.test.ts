import { expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import type { ParameterLayout } from "../../src/graph/parameters.ts";
import { optimizer, remembered } from "../../src/training/optimizers.ts";

// A mean of the weights is kept beside them, and changes no bit of them.

const entries = [
  { name: "a", shape: [5, 3], initialiser: { kind: "zeros" }, part: "other", offset: 0, length: 15 },
  { name: "b", shape: [4], initialiser: { kind: "zeros" }, part: "other", offset: 15, length: 4 },
  { name: "c", shape: [7], initialiser: { kind: "zeros" }, part: "other", offset: 19, length: 7 },
] as const;
const layout: ParameterLayout = { dtype: "float32", entries, total: 26 };

it("is of all steps alike until there are enough, and then follows the newest", async () => {
  const given = { freeze: ["b"], weightDecay: 0.1 };
  const [plain, own] = [optimizer("adamw", layout, given), optimizer("adamw", layout, { ...given, average: 3 })];
  for (const one of [plain, own]) for (let i = 0; i < 26; i++) one.weights.data[i] = chance(1).normal(i);
  expect(own.shipped).toBe(own.weights); // before the first step there is nothing else
  const mean = new Float64Array(26);
  for (let step = 1; step <= 5; step++) {
    for (const one of [plain, own]) {
      for (let i = 0; i < one.gradients.data.length; i++) one.gradients.data[i] = chance(2).fork(step).normal(i);
      await one.step(0.1);
    }
    expect(own.weights.data).toEqual(plain.weights.data);
    const share = 1 / Math.min(step, 3);
    for (let i = 0; i < 26; i++) mean[i] += share * (own.weights.data[i] - mean[i]);
    for (const [i, value] of own.shipped.data.entries()) expect(value).toBeCloseTo(mean[i], 5);
  }
  expect(own.shipped.view("b").data).toEqual(own.weights.view("b").data);
  expect(plain.shipped).toBe(plain.weights);
  expect(remembered("adamw", { trained: 22, matrices: 0, average: 3 })).toBe(
    [...own.state.values()].reduce((sum, { data }) => sum + data.length, 0),
  );
});

it("passes through a small memory in pieces to the same bits", async () => {
  const [whole, pieces] = [{}, { memory: 200 }].map((memory) => optimizer("sgd", layout, { average: 4, ...memory }));
  for (const one of [whole, pieces])
    for (let step = 1; step <= 3; step++) {
      one.gradients.data.fill(step);
      await one.step(0.1);
    }
  expect(pieces.shipped.data).toEqual(whole.shipped.data);
});

it("is refused where each rank has a part", () => {
  expect(() => optimizer("adamw", layout, { average: 2, part: () => ({ from: 0, to: 10 }) })).toThrow(
    "average is of all weights, and with shardOptimizer each rank has a part of them; leave one of them out",
  );
});
