import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { filesSource } from "../../src/data/source.ts";
import type { ChosenReport, RunEvent, TrainOptions } from "../../src/runs/drive.ts";
import { openModel } from "../../src/runs/open-model.ts";
import type { RunSettings } from "../../src/runs/prepare.ts";
import { resumeRun, trainRun } from "../../src/runs/train-run.ts";
import { moods, pairs, rhyme, words } from "../journeys/samples.ts";

// Minutes become ordinary settings of a run, whatever it learns. The clock goes on by a twentieth of a second whenever somebody looks.

const folder = mkdtempSync(join(tmpdir(), "qkv-minutes-"));
const usual = process.env.TMPDIR;
process.env.TMPDIR = folder; // others leave their trials elsewhere
afterAll(() => {
  if (usual === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = usual;
  rmSync(folder, { recursive: true, force: true });
});
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const host = (): TrainOptions & { looks: () => number } => {
  let looks = 0;
  return { cache: join(folder, "cache"), clock: () => ++looks / 20, looks: () => looks };
};

async function through(events: AsyncGenerator<RunEvent, unknown>) {
  const all: RunEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const trained = async (name: string, settings: Omit<RunSettings, "source">, data: string, options = host()) => {
  const asked = { ...settings, source: filesSource([data], {}), training: { threads: 1, minutes: 0.1, ...settings.training } };
  const events = await through(trainRun(join(folder, name), asked, options));
  const config = JSON.parse(readFileSync(join(folder, name, "config.json"), "utf8"));
  return { events, config, chosen: events.find((event): event is ChosenReport => event.kind === "chosen"), options };
};

const kinds: Readonly<Record<string, readonly [file: string, text: string, settings: Omit<RunSettings, "source">]>> = {
  "a language model": ["a.txt", rhyme, {}],
  "an RNN": ["a.txt", rhyme, { model: { model: "rnn" } }],
  "hidden words": ["a.txt", rhyme, { task: "mlm", tokenizer: "char" }],
  "a classifier": ["a.tsv", moods, {}],
  "a tagger": ["tags.tsv", words, {}],
  "a translator": ["pairs.tsv", pairs, { tokenizer: "char" }],
  "an RNN translator": ["pairs.tsv", pairs, { tokenizer: "char", model: { model: "rnn" } }],
};

describe.each(Object.entries(kinds))("%s", (kind, [name, text, settings]) => {
  it("has sizes and steps in its config, and ends in about its time", async () => {
    const { events, config, chosen, options } = await trained(kind, settings, file(name, text));
    expect(config.training).toMatchObject({ minutes: 0.1, steps: chosen?.steps, batch: chosen?.sizes.batch });
    expect(config.model).toMatchObject({ layers: chosen?.sizes.layers, width: chosen?.sizes.width, dropout: chosen?.sizes.dropout });
    expect(chosen?.sentences.join("; ")).toMatch(
      /^for 0\.1 minutes and this much data: .*; [\d,]+ steps of 150 ms, by a trial of \d+: the data is read \d/,
    );
    expect(events.filter(({ kind: one }) => one === "step")).toHaveLength(chosen?.steps ?? 0);
    expect(options.looks() / 20).toBeLessThan(6.6);
    expect(chosen?.steps).toBeGreaterThan(5);
    expect(readdirSync(tmpdir()).filter((one) => one.startsWith("qkv-trial-"))).toEqual([]);
  });
});

it("leaves what was given", async () => {
  const model = { layers: 1, width: 24, heads: 3, context: 8, dropout: 0.3 };
  const { config, chosen } = await trained("given", { model, training: { batch: 3, evalEvery: 7, lr: 0.01 } }, file("a.txt", rhyme));
  expect(config.model).toMatchObject(model);
  expect(config.training).toMatchObject({ batch: 3, evalEvery: 7, lr: 0.01 });
  expect(chosen?.sizes).toEqual({});
  expect(chosen?.sentences[0]).toMatch(/^[\d,]+ steps of 150 ms, by a trial of \d+/);
});

it("a trial leaves no trace in what is trained: the same settings without minutes come to the same weights", async () => {
  const { config } = await trained("timed", {}, file("a.txt", rhyme));
  const { minutes: _, ...training } = config.training;
  const { model: name, vocab: __, ...model } = config.model;
  const source = filesSource([file("a.txt", rhyme)], {});
  await through(trainRun(join(folder, "untimed"), { source, model: { ...model, model: name }, training }, host()));
  const weights = (run: string) => readFileSync(join(folder, run, "model.safetensors"));
  expect(weights("timed").equals(weights("untimed"))).toBe(true);
});

it("a run that goes on measures nothing, and comes to the same weights", async () => {
  const { config } = await trained("whole", { training: { saveEvery: 2, keep: 1000 } }, file("a.txt", rhyme));
  const weights = () => readFileSync(join(folder, "whole", "model.safetensors"));
  const [before, text] = [weights(), readFileSync(join(folder, "whole", "config.json"), "utf8")];
  for (const step of readdirSync(join(folder, "whole/checkpoints")))
    if (Number(step) > 2) rmSync(join(folder, "whole/checkpoints", step), { recursive: true });
  const slow = host();
  const events = await through(resumeRun(join(folder, "whole"), {}, { ...slow, clock: () => 1000 * slow.clock() })); // another speed changes nothing
  expect(events.filter(({ kind }) => kind === "chosen")).toEqual([]);
  expect(events.filter(({ kind }) => kind === "step")).toHaveLength(config.training.steps - 2);
  expect(weights().equals(before)).toBe(true);
  expect(readFileSync(join(folder, "whole", "config.json"), "utf8")).toBe(text);
});

it("a run that goes on from another, and an adapter beside it, only have steps to find", async () => {
  const data = file("a.txt", rhyme);
  await trained("parent", { model: { layers: 1, width: 16, heads: 2, context: 16 }, training: { batch: 4 } }, data);
  const from = openModel(join(folder, "parent"));
  for (const [name, more] of Object.entries({ child: {}, adapter: { lora: { rank: 2 } } })) {
    const { config, chosen } = await trained(name, { from, ...more }, data);
    expect(config.model).toEqual(from.config.model);
    expect([chosen?.sizes, config.training.steps]).toEqual([{}, chosen?.steps]);
    expect(chosen?.steps).toBeGreaterThan(5);
  }
});

it("steps beside minutes are refused", async () => {
  await expect(trained("both", { training: { steps: 5 } }, file("a.txt", rhyme))).rejects.toThrow(
    "minutes: 0.1 finds out how many steps fit into that time, so steps: 5 cannot be given beside it; leave one of them out",
  );
});
