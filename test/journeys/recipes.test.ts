import { expect, it } from "vitest";
import { Workplace } from "../support/command.ts";

// The recipes, from the command line to their results.

const place = new Workplace();

it.each([
  ["letter-counting", "accuracy", 0.99],
  ["copy", "exact", 0.99],
  ["layernorm", "accuracy", 0.98],
])(
  "%s reaches its %s of %d on what it never saw, in its quick setting",
  async (name, measure, wanted) => {
    await place.done("train", "--recipe", name, "--threads", "1", "--quiet", "--out", `quick-${name}`); // other tests run beside it
    const measured = JSON.parse((await place.done("eval", `quick-${name}`, "--json")).stdout);
    expect(measured.examples).toBeGreaterThanOrEqual(1000);
    expect(measured[measure]).toBeGreaterThanOrEqual(wanted);
  },
  600_000,
);

/** The measure that each recipe is about; those with data packages are tried in test/recipes, on packages made there. */
const measures = {
  text27: ["perplexity"],
  copy: ["exact", "exactLonger"],
  reverse: ["exact", "exactLonger"],
  sort: ["exact", "exactLonger"],
  addition: ["exact", "exactLonger"],
  positions: ["accuracy", "accuracy2x", "accuracy4x"],
};

it.each(Object.entries(measures))("%s trains for a few steps, and eval prints %j", async (name, wanted) => {
  const flags = "--layers 1 --heads 1 --width 16 --steps 4 --batch 4 --threads 1 --quiet --json".split(" ");
  const trained = JSON.parse((await place.done("train", "--recipe", name, "--out", name, ...flags)).stdout);
  expect(trained).toMatchObject({ steps: 4, run: name });
  const measured = JSON.parse((await place.done("eval", name, "--json", "--threads", "1")).stdout);
  for (const measure of wanted) expect(measured[measure], measure).toBeGreaterThanOrEqual(0);
});

it("the book is the default, and its text comes with the package", async () => {
  const { stdout } = await place.done("train", "--steps", "4", "--json", "--quiet");
  expect(JSON.parse(stdout)).toMatchObject({ steps: 4, run: "runs/book-lm" });
  const measured = JSON.parse((await place.done("eval", "runs/book-lm", "--json")).stdout);
  expect(measured.tokens).toBeGreaterThan(50_000);
  expect(measured.loss).toBeLessThan(Math.log(85));
});

it("lists the recipes, and one with its settings", async () => {
  const { recipes } = JSON.parse((await place.done("recipes", "--json")).stdout);
  expect(recipes.map(({ name }: { name: string }) => name)).toEqual(
    "book letter-counting text27 reviews translate pronounce copy reverse sort addition positions layernorm".split(" "),
  );
  for (const { teaches, result } of recipes) expect([teaches, result].every((text) => text.length > 10)).toBe(true);
  expect((await place.done("recipes", "book")).stdout).toMatch(/^quick {4}\{.*"steps"/m);
});
