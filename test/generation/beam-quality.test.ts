import { expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { translateIds } from "../../src/generation/translator.ts";
import { modelConfig } from "../../src/models/any.ts";
import { idsOnly, inMemory } from "../support/trained-model.ts";
import { table, trained } from "./trained.ts";

const [length, start, end] = [7, 1, 2];
const model = modelConfig({ model: "encoder-decoder", layers: 1, heads: 2, width: 16, context: 12, vocab: 11 });

const strings = (seed: number, rows: number): number[][] => {
  const source = chance(9).fork(seed);
  return Array.from({ length: rows }, (_, r) => Array.from({ length }, (_, t) => 3 + source.integer(r * length + t, 8)));
};

function batch(step: number) {
  const rows = strings(step, 32);
  return {
    source: table(rows.map((row) => [...row, end])),
    lengths: array(
      "int32",
      rows.map(() => length + 1),
    ),
    target: table(rows.map((row) => [start, ...row.toReversed()])),
    targets: table(rows.map((row) => [...row.toReversed(), end])),
  };
}

it("more beams find likelier answers, on a model that has half learned to reverse strings", async () => {
  const weights = await trained(model, 250, batch);
  const translator = inMemory(model, weights, idsOnly({ start, end }));
  const sources = strings(1_000_000, 64).map((row) => Int32Array.from([...row, end]));
  const means: number[] = [];
  for (const beams of [1, 2, 4, 8]) {
    const found = await translateIds(translator, sources, { beams });
    means.push(found.reduce((sum, { score }) => sum + score, 0) / found.length);
  }
  await translator.release();
  for (const [i, mean] of means.slice(1).entries()) expect(mean, `means ${means}`).toBeGreaterThanOrEqual(means[i]);
  expect(means[3], `means ${means}`).toBeGreaterThan(means[0] + 0.01);
});
