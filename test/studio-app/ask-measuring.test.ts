import { expect, it } from "vitest";
import type { ExampleRow } from "../../src/evaluation/answered.ts";
import { calibrationOf, crossedLabels, crossedPresence, crossedTags, labelsIn } from "../../studio/ask/measuring/crossing.ts";

const row = (wanted: string, said: string, probability: number | null = null): ExampleRow => ({
  text: `${wanted} as ${said}`,
  wanted,
  said,
  probability,
  correct: wanted === said,
});

it("counts every example once, and has as many behind each cell as the cell says", () => {
  const labels = ["bad", "good"];
  const examples = [row("bad", "good"), row("bad", "bad"), row("good", "good"), row("good", "good")];
  const { counts, behind } = crossedLabels(labels, examples);
  expect(counts).toEqual([
    [1, 1],
    [0, 2],
  ]);
  for (const i of [0, 1]) for (const j of [0, 1]) expect(behind(i, j)).toHaveLength(counts[i][j]);
  expect(behind(0, 1)).toEqual([examples[0]]);
});

it("counts every word of tags, and an example once behind each cell that it has words in", () => {
  const examples = [row("O B O", "O O O"), row("B B", "B B")];
  const { counts, behind } = crossedTags(["O", "B"], examples);
  expect(counts).toEqual([
    [2, 0],
    [1, 2],
  ]);
  expect(behind(1, 1)).toEqual([examples[1]]);
  expect(behind(1, 0)).toEqual([examples[0]]);
});

it("takes several labels apart, also such as have commas", () => {
  const labels = ["red", "red, sweet", "food"];
  expect([...labelsIn("red, sweet, food", labels)]).toEqual(["red, sweet", "food"]);
  expect([...labelsIn("", labels)]).toEqual([]);
  const { counts } = crossedPresence("food", labels, [row("food", "red, food"), row("red", ""), row("red, food", "red")]);
  expect(counts).toEqual([
    [1, 1],
    [0, 1],
  ]);
});

it("puts answers into bins by how sure they are, with how often they are right", () => {
  const bins = calibrationOf([row("a", "a", 0.95), row("a", "b", 0.91), row("a", "a", 0.1), row("a", "a")]);
  expect(bins.map(({ from, count, accuracy }) => [from, count, accuracy])).toEqual([
    [0, 1, 1],
    [0.9, 2, 0.5],
  ]);
});
