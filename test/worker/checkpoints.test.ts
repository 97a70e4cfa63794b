import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { resume, train } from "../../src/library/train.ts";
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
  computer = await computerHere(folder);
}, 60_000);

afterAll(() => {
  computer.end();
  rmSync(folder, { recursive: true, force: true });
});

it("the checkpoints that are kept, and the whole config", async () => {
  expect(await computer.checkpoints({ run: "/runs/run" })).toEqual([20, 30, 40]);
  expect(await computer.config({ run: "/runs/run" })).toEqual(JSON.parse(readFileSync(join(run, "config.json"), "utf8")));
});

it.each([
  ["all weights", {}],
  ["an adapter", { from: run, lora: 2 }],
])(
  "opened at a step, a run of %s says what it said at that step, also when the checkpoint is gone",
  async (name, begin) => {
    const own = join(folder, name.replaceAll(" ", "-"));
    const model = "from" in begin ? {} : { model: { width: 16, heads: 2, layers: 1, context: 24 } };
    const settings = {
      out: own,
      ...model,
      ...begin,
      steps: 40,
      batch: 4,
      lr: 0.01,
      saveEvery: 10,
      keep: 10,
      validFraction: 0,
      threads: 1,
      warn: false as const,
    };
    const stop = new AbortController();
    const training = train(join(folder, "rhyme.txt"), {
      ...settings,
      signal: stop.signal,
      listen: (event) => event.kind === "step" && event.step === 20 && stop.abort(new Error("enough")),
    });
    await expect(training).rejects.toThrow("enough");
    const told = async (step?: number) => {
      const opened = await computer.open({ run: `/runs/${basename(own)}` }, step === undefined ? {} : { step });
      const ask = async () => JSON.stringify(await opened.samples(["the cat"], { tokens: 12, seed: 3, top: 2 }));
      return { ask, close: () => opened.close() };
    };
    const then = await told();
    const wanted = await then.ask();
    await then.close();
    await (await resume(own, { warn: false })).release();
    const [before, after] = [await told(20), await told()];
    rmSync(join(own, "checkpoints/20"), { recursive: true });
    expect(await before.ask()).toBe(wanted);
    expect(await after.ask()).not.toBe(wanted);
    await expect(told(20)).rejects.toMatchObject({ told: { path: "step", code: "config.choice" } });
    await before.close();
    await after.close();
  },
  60_000,
);

it("what a table of runs shows of a run", () => {
  const [facts] = factsOf([openRun(run)]);
  expect(facts).toMatchObject({ run, task: "lm", model: "decoder", step: 40, steps: 40, opens: true, hasCheckpoints: true });
  expect(facts.settings).toMatchObject({ task: "lm", tokenizer: "char", "model.width": 16, steps: 40, optimizer: "muon" });
  expect(facts.curve.map(([step]) => step)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
  expect(facts.loss).toBe(facts.curve.at(-1)?.[1]);
  expect(facts.validLoss).toBeGreaterThan(0);
  expect(facts.parameters).toBeGreaterThan(1000);
  expect(facts.training).toBeUndefined();
});
