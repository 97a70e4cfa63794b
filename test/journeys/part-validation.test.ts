import { cpSync, readFileSync, rmSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { trainRun } from "../../src/runs/train-run.ts";
import { contents, outcome, tiny, Workplace } from "../support/command.ts";
import { rhyme } from "./samples.ts";

// Validations may score a part of what is held out; what is said of the weights in the end is of all of it.

const place = new Workplace();
const often = [...tiny, ..."--steps 12 --eval-every 3 --save-every 3 --valid-fraction 0.3 --json --quiet".split(" ")];
const trained = async (...args: string[]) => JSON.parse((await place.done("train", ...args)).stdout);
const model = (run: string) => readFileSync(place.path(run, "model.safetensors"));
const settings = (run: string) => JSON.parse(readFileSync(place.path(run, "config.json"), "utf8")).training;
const logged = (run: string) => outcome(place.path(run)).log as Readonly<Record<string, unknown>>[];

beforeAll(() => place.write("a.txt", rhyme));

it("ships the same file, with the loss over all, as a run whose validations score all", async () => {
  const [whole, part] = [
    await trained("a.txt", ...often, "--out", "whole"),
    await trained("a.txt", ...often, "--eval-tokens", "64", "--out", "part"),
  ];
  expect(settings("whole")).not.toHaveProperty("evalTokens");
  expect(settings("part").evalTokens).toBe(64);
  expect(part.validLoss).toBe(whole.validLoss);
  expect(model("part")).toEqual(model("whole"));
  const losses = (run: string, name: string) => logged(run).flatMap((line) => (name in line ? [line[name]] : []));
  expect(losses("part", "loss")).toEqual(losses("whole", "loss"));
  expect(losses("part", "validLoss")).not.toEqual(losses("whole", "validLoss"));
  expect(losses("part", "wholeLoss")).toEqual([whole.validLoss]);
});

it("scores the weights that were kept, not the last", async () => {
  const { validLoss } = await trained("a.txt", ...often, "--lr", "0", "--eval-tokens", "64", "--out", "flat");
  expect(logged("flat").at(-1)).toEqual({ step: 3, wholeLoss: validLoss });
});

it("finishes when it goes on what a kill left undone, and does nothing twice", async () => {
  const options = { cache: place.path("cache"), clock: () => performance.now() / 1000 };
  const source = { kind: "files" as const, files: [place.path("a.txt")], validFraction: 0.3 };
  const sizes = { layers: 1, heads: 1, width: 16, context: 16 };
  const training = { steps: 12, batch: 4, threads: 1, evalEvery: 3, saveEvery: 3, evalTokens: 64 };
  for await (const event of trainRun(place.path("killed"), { source, model: sizes, training }, options))
    if (event.kind === "saved" && event.step === 12) cpSync(place.path("killed"), place.path("copy"), { recursive: true });
  rmSync(place.path("copy", "lock")); // this process is alive
  expect(model("copy")).not.toEqual(model("killed"));
  expect((await place.done("info", "copy")).stdout).toMatch(/^best +step 12, validation loss [\d.]+ over 64 tokens$/m);
  await place.done("train", "--resume", "copy", "--quiet");
  expect(model("copy")).toEqual(model("killed"));
  const before = contents(place.path("copy"));
  await place.done("train", "--resume", "copy", "--quiet");
  expect(contents(place.path("copy"))).toEqual(before);
  expect((await place.done("info", "copy")).stdout).toMatch(/^best +step 12, validation loss [\d.]+$/m);
});

it("scores a part by itself where a text is long beside the training", async () => {
  place.write("long.txt", rhyme.repeat(40)); // 76,000 characters, of which a tenth is held out
  await trained("long.txt", ...tiny, "--json", "--quiet", "--out", "long");
  expect(settings("long").evalTokens).toBe(4096);
});
