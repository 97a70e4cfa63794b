import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { train } from "../../src/library/train.ts";
import { openRun } from "../../src/runs/folder.ts";
import type { Computer } from "../../src/worker/computer.ts";
import { factsOf } from "../../src/worker/facts.ts";
import { rhyme } from "../journeys/samples.ts";
import { computerHere } from "../support/worker-here.ts";

// What is asked of a run beside its answers: its checkpoints, its config, and what a table of runs shows.

const folder = mkdtempSync(join(tmpdir(), "qkv-asked-"));
const run = join(folder, "run");
let computer: Computer;

beforeAll(async () => {
  writeFileSync(join(folder, "rhyme.txt"), rhyme);
  const model = { width: 16, heads: 2, layers: 2, context: 24 };
  const often = { steps: 40, batch: 4, evalEvery: 10, saveEvery: 10, keep: 3, threads: 1 };
  await (await train(join(folder, "rhyme.txt"), { out: run, model, ...often, warn: false })).release();
  computer = await computerHere();
}, 60_000);

afterAll(() => {
  computer.end();
  rmSync(folder, { recursive: true, force: true });
});

it("the checkpoints that are kept, and the whole config", async () => {
  expect(await computer.checkpoints({ run })).toEqual([20, 30, 40]);
  expect(await computer.config({ run })).toEqual(JSON.parse(readFileSync(join(run, "config.json"), "utf8")));
});

it("what a table of runs shows of a run", () => {
  const [facts] = factsOf([openRun(run)]);
  expect(facts).toMatchObject({ run, task: "lm", model: "decoder", step: 40, steps: 40, opens: true, hasCheckpoints: true });
  expect(facts.settings).toMatchObject({ task: "lm", tokenizer: "char", "model.width": 16, steps: 40, optimizer: "adamw" });
  expect(facts.curve.map(([step]) => step)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
  expect(facts.loss).toBe(facts.curve.at(-1)?.[1]);
  expect(facts.validLoss).toBeGreaterThan(0);
  expect(facts.parameters).toBeGreaterThan(1000);
  expect(facts.training).toBeUndefined();
});
