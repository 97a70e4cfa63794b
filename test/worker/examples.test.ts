import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { LabelMeasures } from "../../src/evaluation/label-measures.ts";
import type { Computer } from "../../src/worker/computer.ts";
import type { Run } from "../../src/worker/run.ts";
import { moods, pairs, rhyme, words } from "../journeys/samples.ts";
import { computerHere } from "../support/worker-here.ts";

// The examples behind the measures: counted again, they give the measures.

const folder = mkdtempSync(join(tmpdir(), "qkv-examples-"));
let computer: Computer;
beforeAll(async () => {
  computer = await computerHere(folder);
});
afterAll(() => {
  computer.end();
  rmSync(folder, { recursive: true, force: true });
});

const trained = (name: string, text: string): Promise<Run> =>
  computer.train(
    { text, name },
    { model: { width: 16, heads: 2, layers: 1 }, steps: 12, batch: 8, lr: 0.01, threads: 1, validFraction: 0.3, listen: () => {} },
  );

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

it("labels: every cell of the confusion has its examples", async () => {
  const run = await trained("moods.tsv", moods);
  const measures = (await run.evaluate()) as LabelMeasures;
  const { task, labels, rows, all } = await computer.examples(run);
  expect([task, labels, all]).toEqual(["classify", measures.labels, rows.length]);
  const cell = (wanted: string, said: string) => rows.filter((row) => row.wanted === wanted && row.said === said).length;
  expect(labels.map((wanted) => labels.map((said) => cell(wanted, said)))).toEqual(measures.confusion);
  expect(mean(rows.map(({ correct }) => Number(correct)))).toBeCloseTo(measures.accuracy, 12);
  const answers = await run.classify(rows.map(({ text }) => text));
  expect(rows.map(({ said, probability }) => [said, probability])).toEqual(answers.map((one) => [one.label, one.probabilities[one.label]]));
  const few = await computer.examples(run, { most: 3 });
  expect([few.rows.length, few.all]).toEqual([3, all]);
  expect(few.rows.every(({ text }) => rows.some((row) => row.text === text))).toBe(true);
  const [step] = await computer.checkpoints(run);
  expect((await computer.examples(run, { step })).rows.map(({ text }) => text)).toEqual(rows.map(({ text }) => text));
  await expect(computer.examples(run, { most: 0 })).rejects.toMatchObject({ told: { path: "most" } });
  await run.close();
});

it("tags: the shares that are right have the accuracy", async () => {
  const run = await trained("words.tsv", words);
  const { accuracy } = (await run.evaluate()) as LabelMeasures;
  const { rows } = await computer.examples(run);
  const counts = rows.map(({ wanted }) => wanted.split(" ").length);
  const right = rows.map(({ score = 0 }, i) => score * counts[i]);
  expect(mean(right) / mean(counts)).toBeCloseTo(accuracy, 12);
  expect(rows.every(({ correct, wanted, said }) => correct === (wanted === said))).toBe(true);
  await run.close();
});

it("translations: what is right to the letter is the exact match; a text has no examples", async () => {
  const run = await trained("pairs.tsv", pairs);
  const measures = await run.evaluate();
  const { rows, labels } = await computer.examples(run);
  expect(mean(rows.map(({ correct }) => Number(correct)))).toBeCloseTo(Number((measures as { readonly exact?: number }).exact), 12);
  expect(labels).toEqual([]);
  expect(rows.every(({ score = -1, probability }) => score >= 0 && score <= 100 && (probability ?? 2) <= 1)).toBe(true);
  await run.close();
  const text = await trained("rhyme.txt", rhyme);
  await expect(computer.examples(text)).rejects.toMatchObject({ told: { code: "config.task" } });
  await text.close();
});

it("a passage: a whole line of what was held out, or as many words as can be taken in at a glance", async () => {
  const run = await trained("rhyme.txt", rhyme);
  const passage = await computer.passage(run);
  const lines = rhyme.split("\n").map((line) => line.trim());
  expect(lines.some((line) => line.startsWith(passage))).toBe(true);
  expect(passage.length).toBeGreaterThanOrEqual(16);
  expect(passage.length).toBeLessThanOrEqual(32); // letters are its tokens
  await run.close();
  const wide = await trained("wide.txt", rhyme.replace(/\s+/g, " "));
  const words = await computer.passage(wide);
  expect([words.length <= 32, rhyme.replace(/\s+/g, " ").includes(` ${words}`)]).toEqual([true, true]);
  await wide.close();
  const labels = await trained("moods.tsv", moods);
  expect(await computer.passage(labels)).toBe((await computer.examples(labels, { most: 1 })).rows[0].text);
  await labels.close();
});
