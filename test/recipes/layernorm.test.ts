import { expect, it } from "vitest";
import { layernorm } from "../../src/recipes/layernorm.ts";
import type { Tagged } from "../../src/text/examples.ts";

it("asks at every position for the most frequent of 20 letters, which leads by 6 or more", async () => {
  const data = await layernorm.data(false);
  if (data.kind !== "examples") throw new Error("layernorm has examples");
  const answers = new Map<string, number>();
  for (const { text, tags } of data.test as Tagged[]) {
    const counts = new Map<string, number>();
    for (const letter of text) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    const [[first, most], [, second]] = [...counts].sort(([, a], [, b]) => b - a);
    expect([text.length, tags.length, new Set(tags)]).toEqual([50, 50, new Set([first])]);
    expect(most - second).toBeGreaterThanOrEqual(6);
    answers.set(first, (answers.get(first) ?? 0) + 1);
  }
  expect(answers.size).toBe(20);
  expect(Math.max(...answers.values()) / data.test.length).toBeLessThan(0.1);
});
