import { expect, it } from "vitest";
import { addition, sum } from "../../src/recipes/addition.ts";
import type { Recipe } from "../../src/recipes/recipe.ts";
import { copy, reverse, reversed, sort, sorted } from "../../src/recipes/strings.ts";
import type { Pair } from "../../src/text/examples.ts";

async function pairsOf(recipe: Recipe): Promise<{ short: Pair[]; longer: Pair[] }> {
  const data = await recipe.data(false);
  if (data.kind !== "examples") throw new Error("these have examples");
  return { short: [...data.train, ...data.valid, ...data.test] as Pair[], longer: data.longer?.Longer as Pair[] };
}

it.each([
  [copy, (text: string) => text],
  [reverse, reversed],
  [sort, sorted],
])("$name has strings of 4 to 12 letters, and of 13 to 24, with their answers", async (recipe, answer) => {
  const { short, longer } = await pairsOf(recipe);
  const lengths = (pairs: readonly Pair[]) => [...new Set(pairs.map(({ source }) => source.length))].sort((a, b) => a - b);
  expect(lengths(short)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12]);
  expect(lengths(longer)).toEqual([13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24]);
  expect([...short, ...longer].filter(({ source, target }) => target !== answer(source))).toEqual([]);
});

it("reverses and sorts", () => {
  expect([reversed("query"), sorted("query")]).toEqual(["yreuq", "eqruy"]);
});

it("writes a sum from its last digit on", () => {
  expect(sum(957, 68, 4)).toEqual({ source: "0957+0068", target: "52010" }); // 1025
  expect(sum(99_999, 1, 5)).toEqual({ source: "99999+00001", target: "000001" });
});

it("has sums of four digits, and of five to test with", async () => {
  const { short, longer } = await pairsOf(addition);
  const right = ({ source, target }: Pair, columns: number) => {
    const [a, b] = source.split("+");
    return a.length === columns && b.length === columns && Number(reversed(target)) === Number(a) + Number(b);
  };
  expect(short.every((pair) => right(pair, 4))).toBe(true);
  expect(longer.every((pair) => right(pair, 5))).toBe(true);
});
