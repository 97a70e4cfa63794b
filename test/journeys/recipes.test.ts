import { expect, it } from "vitest";
import { Workplace } from "../support/command.ts";

// The recipes, from the command line to their results.

const place = new Workplace();

it("letter-counting reaches 0.99 on its 1,000 test strings in its quick setting", async () => {
  await place.done("train", "--recipe", "letter-counting", "--quiet", "--out", "letters");
  const { stdout } = await place.done("eval", "letters", "--json");
  const { accuracy, examples } = JSON.parse(stdout);
  expect(examples).toBe(1000);
  expect(accuracy).toBeGreaterThanOrEqual(0.99);
}, 300_000);

it("the book is the default, and its text comes with the package", async () => {
  const { stdout } = await place.done("train", "--steps", "4", "--json", "--quiet");
  expect(JSON.parse(stdout)).toMatchObject({ steps: 4, run: "runs/book-lm" });
  const measured = JSON.parse((await place.done("eval", "runs/book-lm", "--json")).stdout);
  expect(measured.tokens).toBeGreaterThan(50_000);
  expect(measured.loss).toBeLessThan(Math.log(85));
});

it("lists the recipes, and one with its settings", async () => {
  const { recipes } = JSON.parse((await place.done("recipes", "--json")).stdout);
  expect(recipes.map(({ name }: { name: string }) => name)).toEqual(["book", "letter-counting"]);
  expect((await place.done("recipes", "book")).stdout).toMatch(/^quick {4}\{.*"steps"/m);
});
