import { expect, it } from "vitest";
import { likeNeighbours, positions } from "../../src/recipes/positions.ts";
import type { Tagged } from "../../src/text/examples.ts";

it("counts the neighbours that are the same letter: two before and two after, with 2 for more", () => {
  expect(likeNeighbours("abacaad").join("")).toBe("1020210");
  expect(likeNeighbours("a")).toEqual(["0"]);
});

it("tests at once, twice and four times the length that it trains on, and has room for the longest", async () => {
  const data = await positions.data(false);
  if (data.kind !== "examples") throw new Error("positions has examples");
  const lengths = (part: readonly object[]) => [...new Set((part as Tagged[]).map(({ text }) => text.length))];
  expect([data.train, data.test, data.longer?.["2x"] ?? [], data.longer?.["4x"] ?? []].map(lengths)).toEqual([[20], [20], [40], [80]]);
  expect(positions.settings(false).model).toMatchObject({ context: 80 });
  const tags = (data.test as Tagged[]).flatMap((example) => example.tags);
  for (const tag of ["0", "1", "2"]) expect(tags.filter((one) => one === tag).length / tags.length).toBeGreaterThan(0.2); // none is right most of the time
});
