import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { contents, expectRefusal, tiny, Workplace } from "../support/command.ts";
import { moods, rhyme } from "./samples.ts";

// A run folder belongs to one run, and at any moment to one process.

const place = new Workplace();

beforeAll(async () => {
  place.write("a.txt", rhyme);
  place.write("a.tsv", moods);
  await place.done("train", "a.txt", ...tiny, "--out", "run");
  place.write("run/notes.md", "mine");
  place.write("run/checkpoints-of-mine/best", "mine too");
});

const copied = (name: string): string => {
  cpSync(place.path("run"), place.path(name), { recursive: true });
  return name;
};

it("never replaces a run unasked", async () => {
  const before = contents(place.path("run"));
  expectRefusal(
    await place.qkv("train", "a.tsv", ...tiny, "--out", "run"),
    1,
    "RunError: run already holds a run; go on with it by --resume run, choose another --out, or replace it with --overwrite\n",
  );
  expect(contents(place.path("run"))).toEqual(before);
});

it("replaces a run with --overwrite, and keeps what is not its own", async () => {
  const run = copied("replaced");
  await place.done("train", "a.tsv", ...tiny, "--steps", "4", "--out", run, "--overwrite");
  expect(JSON.parse((await place.done("info", run, "--json")).stdout)).toMatchObject({ task: "classify", step: 4 });
  expect(readFileSync(place.path(run, "notes.md"), "utf8")).toBe("mine");
  expect(readFileSync(place.path(run, "checkpoints-of-mine/best"), "utf8")).toBe("mine too");
});

it.each<[string, string[]]>([
  ["bad data", ["missing.txt"]],
  ["a batch that is too large", ["a.txt", "--batch", "5000"]],
  ["a model that cannot do it", ["a.txt", "--model", "encoder"]],
])("keeps the old run when --overwrite meets %s", async (_, args) => {
  const before = contents(place.path("run"));
  const { code } = await place.qkv("train", ...tiny, ...args, "--out", "run", "--overwrite");
  expect(code).not.toBe(0);
  expect(contents(place.path("run"))).toEqual(before);
});

it("does not remove files of others that are called like its own", async () => {
  mkdirSync(place.path("foreign/checkpoints"), { recursive: true });
  place.write("foreign/checkpoints/epoch-3.pt", "weeks of work");
  place.write("foreign/model.safetensors", "weeks of work");
  const before = contents(place.path("foreign"));
  expectRefusal(
    await place.qkv("train", "a.txt", ...tiny, "--out", "foreign"),
    1,
    /^RunError: foreign .*(model\.safetensors|checkpoints)/m,
  );
  expect(contents(place.path("foreign"))).toEqual(before);
});

it("keeps a second process out while one is training, without touching what the first has", async () => {
  const first = place.start(
    "train",
    "a.txt",
    ...tiny,
    "--steps",
    "1000000",
    "--save-every",
    "20",
    "--eval-every",
    "1000000",
    "--out",
    "busy",
  );
  await first.said(/^step 1\//m);
  while (!existsSync(place.path("busy/checkpoints"))) await first.said(/^step 1\//m);
  const files = () => ["config.json", "tokenizer.json", "log.jsonl"].filter((name) => existsSync(place.path("busy", name)));
  const busy = new RegExp(`^RunError: process ${first.pid} is training in busy at this moment; wait for it or stop it`, "m");
  try {
    expectRefusal(await place.qkv("train", "a.txt", ...tiny, "--out", "busy"), 1, /^RunError: busy already holds a run/m);
    expectRefusal(await place.qkv("train", "--resume", "busy"), 1, busy);
    expectRefusal(await place.qkv("train", "a.txt", ...tiny, "--out", "busy", "--overwrite"), 1, busy);
    expect(files()).toEqual(["config.json", "tokenizer.json", "log.jsonl"]);
  } finally {
    first.signal("SIGINT");
    expect((await first.ended).code).toBe(130);
  }
  expect(JSON.parse((await place.done("info", "busy", "--json")).stdout).step).toBeGreaterThan(0);
});

it("counts a lock of a process that is gone for nothing", async () => {
  const run = copied("left");
  place.write("left/lock", "999999999");
  await place.done("train", "--resume", run, "--steps", "8");
  expect(existsSync(place.path(run, "lock"))).toBe(false);
});

it("chooses a folder by the data and the task, and says where", async () => {
  expect((await place.done("train", "a.txt", ...tiny)).stdout).toBe("runs/a-lm\n");
  expect((await place.done("train", "a.tsv", ...tiny)).stdout).toBe("runs/a-classify\n");
});
