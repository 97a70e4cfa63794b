import { cpSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { readSafetensors } from "../../src/weights/safetensors.ts";
import { contents, expectRefusal, outcome, tiny, Workplace } from "../support/command.ts";
import { moods, pairs, rhyme, words } from "./samples.ts";

// Training goes on from a run's weights, on other data.

const place = new Workplace();
const other = (text: string) =>
  text.replaceAll("today", "tonight").replaceAll("number", "figure").replaceAll("mat", "hat").replaceAll("barks", "runs");
const json = (file: string) => JSON.parse(readFileSync(place.path(file), "utf8"));
const weightsOf = (file: string) => readSafetensors(readFileSync(place.path(file)), file).tensors;
const small = "--layers 1 --heads 1 --width 16 --context 16 --batch 4 --steps 6 --threads 1".split(" ");

const kinds: Record<string, readonly [file: string, text: string, ...flags: string[]]> = {
  "a language model": ["a.txt", rhyme],
  "an RNN": ["a.txt", rhyme, "--model", "rnn"],
  "a classifier": ["a.tsv", moods],
  "a tagger": ["tags.tsv", words],
  "a translator": ["pairs.tsv", pairs, "--tokenizer", "char"],
};
const nameOf = (kind: string) => kind.replaceAll(" ", "-");

beforeAll(async () => {
  for (const [file, text] of Object.values(kinds)) {
    place.write(file, text);
    place.write(`new/${file}`, other(text));
  }
  for (const [kind, [file, , ...flags]] of Object.entries(kinds)) {
    const sizes = kind === "an RNN" ? small.slice(4).filter((flag) => flag !== "--heads") : small;
    await place.done("train", file, ...sizes, ...flags, "--quiet", "--out", nameOf(kind));
  }
});

describe.each(Object.entries(kinds))("%s", (kind, [file]) => {
  const parent = nameOf(kind);

  it("begins with the loss that its parent ended with, where the data is the same", async () => {
    const run = `${parent}-same`;
    await place.done("train", file, "--from", parent, "--steps", "2", "--threads", "1", "--quiet", "--out", run);
    const [first] = outcome(place.path(run)).log;
    expect(first).toEqual({
      step: 0,
      validLoss: JSON.parse((await place.done("info", parent, "--json")).stdout).best.validLoss,
      improved: true,
    });
  });

  it("goes on to the same end when it is stopped, without its parent", async () => {
    const flags = [`new/${file}`, "--from", parent, "--threads", "1", "--quiet", "--save-every", "2", "--eval-every", "3", "--keep", "9"];
    await place.done("train", ...flags, "--steps", "6", "--out", `${parent}-straight`);
    await place.done("train", ...flags, "--steps", "6", "--out", `${parent}-begun`);
    const run = place.path(`${parent}-begun`);
    for (const step of ["3", "4", "6"]) rmSync(`${run}/checkpoints/${step}`, { recursive: true, force: true });
    renameSync(place.path(parent), place.path(`${parent}-away`));
    await place.done("train", "--resume", run, "--quiet");
    renameSync(place.path(`${parent}-away`), place.path(parent));
    expect(outcome(run)).toEqual(outcome(place.path(`${parent}-straight`)));
  });
});

it("saves what it begins with, so that a kill before the first save needs no parent", async () => {
  await place.done(
    "train",
    "new/a.txt",
    "--from",
    "a-language-model",
    "--threads",
    "1",
    "--steps",
    "4",
    "--keep",
    "9",
    "--quiet",
    "--out",
    "whole",
  );
  const steps = ["1", "2", "3", "4"];
  cpSync(place.path("whole"), place.path("killed"), { recursive: true });
  for (const step of steps) rmSync(place.path("killed/checkpoints", step), { recursive: true, force: true });
  renameSync(place.path("a-language-model"), place.path("away"));
  expect((await place.done("train", "--resume", "killed")).stderr).toMatch(/^validation loss [\d.]+ before the first step$/m);
  expect((await place.done("generate", "killed", "the", "--tokens", "3")).stdout).toMatch(/^the/);
  renameSync(place.path("away"), place.path("a-language-model"));
  expect(outcome(place.path("killed"))).toEqual(outcome(place.path("whole")));
  rmSync(place.path("killed/checkpoints"), { recursive: true });
  expectRefusal(
    await place.qkv("train", "--resume", "killed"),
    1,
    /^RunError: killed has no whole checkpoint any more, and began with the weights of \S+a-language-model.*--from/m,
  );
});

it("keeps the rows of labels that were known, adds new ones, and says which", async () => {
  place.write("b.tsv", moods.replaceAll("\tbad", "\tawful"));
  const flags = ["--lr", "0", "--steps", "1", "--threads", "1", "--out", "labels"];
  const { stderr } = await place.done("train", "b.tsv", "--from", "a-classifier", ...flags);
  expect(stderr).toMatch(/^warning: 1 of the 2 labels that the run knew do not occur in the new data \(bad\); they stay/m);
  expect(stderr).toMatch(/^from \S+a-classifier, step \d; new labels: awful$/m);
  const facts = JSON.parse((await place.done("info", "labels", "--json")).stdout);
  expect(facts).toMatchObject({
    labels: ["bad", "good", "awful"],
    from: { run: place.path("a-classifier"), labels: 2, newLabels: ["awful"] },
  });
  expect((await place.done("info", "labels")).stdout).toMatch(
    /^from +\S+a-classifier, step \d \(weights [0-9a-f]{12}…\); new labels: awful$/m,
  );
  expect(facts.from.sha256).toBe(contents(place.path("a-classifier"))["model.safetensors"]);
  const [before, after] = [weightsOf("a-classifier/model.safetensors"), weightsOf("labels/model.safetensors")];
  for (const [name, { data }] of before) expect([...(after.get(name)?.data ?? [])].slice(0, data.length), name).toEqual([...data]);
  const row = [...(after.get("encoder/labels/weight")?.data ?? [])].slice(2 * 16);
  expect(row).toHaveLength(16);
  expect(row.every((value) => value !== 0)).toBe(true);
});

it("takes over how the run was trained, with a smaller rate, unless it is told otherwise", async () => {
  const before = json("a-classifier/config.json").training;
  const after = json("labels/config.json").training;
  expect(after).toMatchObject({ batch: before.batch, optimizer: before.optimizer, lr: 0 });
  expect(json("a-classifier-same/config.json").training.lr).toBeCloseTo(0.5 * before.lr, 12);
});

it("freezes parts, which stay bit for bit, and says how many parameters are trained", async () => {
  const { stderr } = await place.done(
    "train",
    "new/a.tsv",
    "--from",
    "a-classifier",
    "--freeze",
    "encoder/tokens,encoder/block.0",
    "--lr",
    "0.1",
    "--steps",
    "3",
    "--threads",
    "1",
    "--out",
    "frozen",
  );
  const [before, after] = [weightsOf("a-classifier/model.safetensors"), weightsOf("frozen/checkpoints/3/weights.safetensors")];
  const moved = [...before]
    .filter(([name, { data }]) => [...data].join() !== [...(after.get(name)?.data ?? [])].join())
    .map(([name]) => name);
  expect(moved).toEqual([...before.keys()].filter((name) => !/^encoder\/(tokens|block\.0)/.test(name)));
  const { parameters, trained, frozen, training } = JSON.parse((await place.done("info", "frozen", "--json")).stdout);
  expect([trained + frozen, training.freeze]).toEqual([parameters, ["encoder/tokens", "encoder/block.0"]]);
  expect(trained).toBe(16 + 2 * 16 + 2); // a norm and the labels
  expect(stderr).toContain(`(${trained} trained, ${frozen.toLocaleString("en")} frozen)`);
  expect([...weightsOf("frozen/checkpoints/3/optimizer.safetensors").keys()].some((name) => name.includes("block.0"))).toBe(false);
});

it.each<[string, string[], RegExp]>([
  [
    "another width",
    ["a.tsv", "--width", "32"],
    /^ConfigError: a-classifier has --width 16, and its weights do not fit --width 32; leave that out/m,
  ],
  ["another model", ["a.tsv", "--model", "rnn"], /^ConfigError: a-classifier has --model encoder, /m],
  ["a tokenizer", ["a.tsv", "--tokenizer", "char"], /^ConfigError: --tokenizer cannot be chosen with --from/m],
  ["a vocabulary", ["a.tsv", "--vocab", "50"], /^ConfigError: --vocab cannot be chosen with --from/m],
  [
    "another task",
    ["a.txt"],
    /^ConfigError: a-classifier was trained for classify, and the data is for lm, .*train a new run for lm without --from/m,
  ],
  ["no data", [], /^ConfigError: --from wants data to go on with/m],
  ["its own folder", ["a.tsv", "--out", "a-classifier", "--overwrite"], /^ConfigError: a-classifier is the run to go on from/m],
  [
    "a place that is not there",
    ["a.tsv", "--freeze", "encoder/blok.0"],
    /^ConfigError: no parameter lies in "encoder\/blok\.0"; did you mean "encoder\/block\.0"\?/m,
  ],
  ["nothing left to train", ["a.tsv", "--freeze", "encoder"], /^ConfigError: every parameter is frozen/m],
])("refuses %s", async (_, args, sentence) => {
  const before = contents(place.path("a-classifier"));
  expectRefusal(await place.qkv("train", ...args, "--from", "a-classifier"), 2, sentence);
  expect(contents(place.path("a-classifier"))).toEqual(before);
  expect(existsSync(place.path("runs"))).toBe(false);
});

it("lets dropout change, and a context that no weight depends on", async () => {
  const flags = [
    "--from",
    "a-classifier",
    "--dropout",
    "0.2",
    "--context",
    "20",
    "--steps",
    "1",
    "--threads",
    "1",
    "--quiet",
    "--out",
    "free",
  ];
  await place.done("train", "a.tsv", ...flags);
  expect(json("free/config.json").model).toMatchObject({ dropout: 0.2, context: 20, width: 16 });
  await place.done("train", "a.txt", ...tiny, "--positions", "learned", "--steps", "1", "--quiet", "--out", "learned");
  expectRefusal(
    await place.qkv("train", "a.txt", "--from", "learned", "--context", "8"),
    2,
    /learned has --context 16, which is the size of its decoder\/positions/,
  );
});
