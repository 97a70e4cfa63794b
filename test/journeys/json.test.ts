import { beforeAll, describe, expect, it } from "vitest";
import { tiny, Workplace } from "../support/command.ts";
import { moods, pairs, rhyme, words } from "./samples.ts";

// What scripts rely on: one line of JSON on standard output with the promised keys, and everything else on standard error.

const place = new Workplace();
const data = { "lm.txt": rhyme, "classify.tsv": moods, "tag.tsv": words, "translate.tsv": pairs };

const trainKeys = "loss parameters run savingSeconds steps tokensPerSecond totalSeconds trainingSeconds validLoss validationSeconds".split(
  " ",
);

function onlyLine(stdout: string): Record<string, never> {
  expect(stdout).toMatch(/^\{.*\}\n$/);
  return JSON.parse(stdout);
}

beforeAll(() => {
  for (const [name, content] of Object.entries(data)) place.write(name, content);
});

describe.each(Object.keys(data))("a run on %s", (file) => {
  const task = file.replace(/\..*/, "");

  it("prints one line with the promised keys after training, and progress on standard error", async () => {
    const { stdout, stderr } = await place.done("train", file, ...tiny, "--json", "--out", task);
    const result = onlyLine(stdout);
    expect(Object.keys(result).sort()).toEqual(trainKeys);
    expect([result.steps, result.run]).toEqual([6, task]);
    for (const key of trainKeys.filter((name) => name !== "run")) expect(result[key], key).toBeGreaterThan(0);
    expect(result.trainingSeconds + result.validationSeconds).toBeLessThan(result.totalSeconds);
    expect(stderr).toMatch(/^step 1\/6 {2}loss \d/m);
  });

  it("prints one line of facts", async () => {
    const { stdout, stderr } = await place.done("info", task, "--json");
    const facts = onlyLine(stdout) as Record<string, unknown>;
    expect(stderr).toBe("");
    expect(facts).toMatchObject({ run: task, task, step: 6, training: { steps: 6 }, tokenizer: { vocab: expect.any(Number) } });
    expect(facts).toMatchObject({ parameters: expect.any(Number), model: { width: 16 }, data: { train: expect.any(Number) } });
  });

  it("prints one line of measures in the promised units", async () => {
    const result = onlyLine((await place.done("eval", task, "--json")).stdout) as Record<string, number>;
    const keys = {
      lm: ["loss", "perplexity", "bitsPerToken", "bitsPerByte"],
      classify: ["accuracy", "f1", "confusion"],
      tag: ["accuracy", "f1", "confusion"],
      translate: ["bleu", "chrf", "exact", "tokenErrorRate", "wordErrorRate"],
    }[task];
    expect(Object.keys(result)).toEqual(expect.arrayContaining([...(keys ?? []), "examples", "seconds"]));
    expect(result.seconds).toBeGreaterThan(0);
    for (const share of ["accuracy", "f1", "exact"].filter((key) => key in result)) {
      expect(result[share]).toBeGreaterThanOrEqual(0);
      expect(result[share]).toBeLessThanOrEqual(1);
    }
  });
});

it("measures a language model in units that agree, every token once", async () => {
  const given = onlyLine((await place.done("eval", "lm", "lm.txt", "--json")).stdout) as Record<string, number>;
  expect(given.tokens).toBe(rhyme.length);
  expect(given.examples).toBe(Math.ceil(rhyme.length / 16));
  expect(given.perplexity).toBeCloseTo(Math.exp(given.loss), 6);
  expect(given.bitsPerToken).toBeCloseTo(given.loss / Math.LN2, 6);
  expect(given.bitsPerByte).toBeCloseTo(given.bitsPerToken, 6); // one byte a character here
});

it("finds the validation loss of training again", async () => {
  const trained = onlyLine((await place.done("train", "lm.txt", ...tiny, "--json", "--quiet", "--out", "again")).stdout);
  const { loss } = onlyLine((await place.done("eval", "again", "--json")).stdout) as Record<string, number>;
  expect(loss).toBeCloseTo(trained.validLoss, 5);
});

it("counts every example of a classifier once in its confusion", async () => {
  const result = JSON.parse((await place.done("eval", "classify", "classify.tsv", "--json")).stdout);
  const counts: number[] = result.confusion.flat();
  expect(counts.reduce((a, b) => a + b)).toBe(40);
  expect((result.confusion[0][0] + result.confusion[1][1]) / 40).toBeCloseTo(result.accuracy, 12);
  expect([result.examples, result.labels]).toEqual([40, ["bad", "good"]]);
});

it("gives BLEU and chrF from 0 to 100", async () => {
  place.write("perfect.tsv", "source\ttarget\n".concat(...Array.from({ length: 9 }, (_, i) => `copy ${i}\ta b c d e\n`)));
  const flags = "--layers 1 --heads 1 --width 32 --batch 8 --steps 150 --lr 0.01 --tokenizer word --threads 1 --valid-fraction 0".split(
    " ",
  );
  await place.done("train", "perfect.tsv", ...flags, "--quiet", "--out", "perfect");
  const result = JSON.parse((await place.done("eval", "perfect", "perfect.tsv", "--json")).stdout);
  expect(result).toMatchObject({
    bleu: expect.closeTo(100, 6),
    chrf: expect.closeTo(100, 6),
    exact: 1,
    tokenErrorRate: 0,
    wordErrorRate: 0,
  });
});

it("is silent with --quiet, on both sides", async () => {
  const { stdout, stderr } = await place.done("train", "lm.txt", ...tiny, "--quiet", "--out", "quiet");
  expect([stdout, stderr]).toEqual(["", ""]);
});

it("prints null for what there is none of", async () => {
  const { stdout } = await place.done("train", "lm.txt", ...tiny, "--valid-fraction", "0", "--json", "--quiet", "--out", "no-validation");
  expect(onlyLine(stdout).validLoss).toBeNull();
});
