import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { EngineError } from "../../src/base/errors.ts";
import { type TrainSettings, train } from "../../src/library/train.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import type { Engine } from "../../src/runtime/session.ts";
import { contents, tiny, Workplace } from "../support/command.ts";
import { moods, rhyme } from "./samples.ts";

// A start that fails leaves nothing behind, and what was there stays.

const place = new Workplace();

beforeAll(async () => {
  place.write("a.txt", rhyme);
  place.write("a.tsv", moods);
  place.write("empty.txt", "");
  place.write("broken.tsv", "text\tlabel\nno label here\n");
  place.write("latin.txt", Uint8Array.from([0x61, 0xe6, 0x0a]));
  place.write("same.tsv", "text\tlabel\na\tx\nb\tx\nc\tx\n");
  place.write("bad.json", "{}");
  await place.done("train", "a.txt", ...tiny, "--quiet", "--out", "old");
  place.write("mine/notes.md", "mine");
});

it("says which flags do nothing in one process", async () => {
  const flags = ["--shard-optimizer", "--compress", "bf16"];
  const { stderr } = await place.done("train", "a.txt", ...tiny, ...flags, "--quiet", "--out", "alone");
  for (const flag of ["--shard-optimizer", "--compress"])
    expect(stderr).toContain(`warning: ${flag} has no effect here: it is for several ranks`);
});

const failures: [what: string, args: string[]][] = [
  ["a file that is not there", ["missing.txt"]],
  ["an empty file", ["empty.txt"]],
  ["bytes that are no UTF-8", ["latin.txt"]],
  ["a line without a label", ["broken.tsv"]],
  ["one label only", ["same.tsv"]],
  ["too little text", ["a.txt", "--context", "5000"]],
  ["a batch that is too large", ["a.txt", "--batch", "5000"]],
  ["another task", ["a.txt", "--task", "classify"]],
  ["a model that cannot do it", ["a.txt", "--model", "encoder"]],
  ["heads that do not divide the width", ["a.txt", "--heads", "3"]],
  ["a model too big for the memory", ["a.txt", "--width", "16384", "--layers", "90", "--heads", "1"]],
  ["a flag that there is not", ["a.txt", "--widht", "8"]],
  ["a value that makes no sense", ["a.txt", "--steps", "none"]],
  ["a tokenizer that there is not", ["a.txt", "--tokenizer", "bep"]],
  ["a tokenizer.json that is none", ["a.txt", "--tokenizer", "bad.json"]],
  ["a recipe that there is not", ["--recipe", "bok"]],
  ["a place that there is not", ["a.txt", "--freeze", "decoder/nowhere"]],
  ["a run to go on from that there is not", ["a.txt", "--from", "nowhere"]],
];

const tree = () =>
  readdirSync(place.folder, { recursive: true })
    .map(String)
    .filter((name) => !name.startsWith(".cache"))
    .sort();

it.each(failures)("%s", async (_, args) => {
  const before = [tree(), contents(place.path("old"))];
  const starts = [
    ["--out", "deep/er/run"],
    ["--out", "old", "--overwrite"],
  ];
  for (const { code } of await Promise.all(starts.map((out) => place.qkv("train", ...tiny, ...args, ...out))))
    expect(code).toBeGreaterThan(0);
  expect([tree(), contents(place.path("old"))]).toEqual(before);
});

it.each<[string, TrainSettings]>([
  ["a new folder", { out: "deep/er/run" }],
  ["a folder with something else in it", { out: "mine" }],
  ["a run to replace", { out: "old", overwrite: true }],
  ["a run to go on from", { out: "deep/er/run", from: "old" }],
])("an engine that refuses the first step: %s", async (_, settings) => {
  const before = [tree(), contents(place.path("old")), contents(place.path("mine"))];
  const engine: Engine = { ...nodeEngine, createSession: () => Promise.reject(new EngineError("out of order")) };
  const { out = "", from } = settings;
  const inside = { ...settings, out: place.path(out), ...(from && { from: place.path("old") }), cache: place.path(".cache") };
  await expect(train(place.path("a.txt"), { ...inside, steps: 2, batch: 4, device: { engine } })).rejects.toThrow("out of order");
  expect([tree(), contents(place.path("old")), contents(place.path("mine"))]).toEqual(before);
});

it("a name that is too long for the disk, in a folder that would be new", async () => {
  const before = tree();
  expect((await place.qkv("train", "a.txt", ...tiny, "--out", `deep/${"x".repeat(300)}`)).code).toBe(1);
  expect(tree()).toEqual(before);
});

it.skipIf(process.getuid?.() === 0)("a folder without permission", async () => {
  mkdirSync(place.path("closed"));
  chmodSync(place.path("closed"), 0o500);
  const before = tree();
  expect((await place.qkv("train", "a.txt", ...tiny, "--out", "closed/run")).code).toBe(1);
  expect(tree()).toEqual(before);
});
