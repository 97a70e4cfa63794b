import { expect, it } from "vitest";
import { agreeOnWeights } from "../../src/training/agreement.ts";
import { together } from "../support/together.ts";

it.each([1, 5, 300_000])("%i weights that a rank rounded differently become those of rank 0, and others stay", async (count) => {
  const start = (rank: number, others: readonly number[]) => new Float32Array(count).fill(others.includes(rank) ? 1 + 2 ** -23 : 1);
  for (const others of [[], [2], [1, 2], [0]]) {
    const found = await together(3, async (group) => {
      const weights = start(group.rank, others);
      await agreeOnWeights(weights, group);
      return weights;
    });
    for (const weights of found) expect(weights).toEqual(start(0, others));
  }
});
