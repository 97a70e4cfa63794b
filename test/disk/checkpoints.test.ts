import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigError, RunError } from "../../src/base/errors.ts";
import { Checkpoints } from "../../src/disk/checkpoints.ts";

let root = "";
let folder = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "qkv-checkpoints-"));
  folder = join(root, "checkpoints");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const content = (word: string) =>
  new Map([
    ["weights.safetensors", [Uint8Array.of(1, 2), new TextEncoder().encode(word)]],
    ["place.json", [new TextEncoder().encode("{}")]],
  ]);

/** The step and the word of the newest, and the warnings on the way to it. */
function newest(checkpoints = new Checkpoints(folder)): { step?: number; word?: string; warnings: string[] } {
  const warnings: string[] = [];
  const found = checkpoints.latest((sentence) => warnings.push(sentence));
  return { step: found?.step, word: found && new TextDecoder().decode(found.read("weights.safetensors").subarray(2)), warnings };
}

const hidden = () => readdirSync(folder).filter((name) => name.startsWith(".") || name.endsWith(".new"));
const edit = (path: string, change: (text: string) => string) =>
  writeFileSync(join(folder, path), change(readFileSync(join(folder, path), "latin1")), "latin1");

it("saves, lists, finds the newest and removes the oldest", () => {
  const checkpoints = new Checkpoints(folder);
  expect([checkpoints.list(), checkpoints.latest(() => {})]).toEqual([[], undefined]);
  for (const step of [9, 10, 100]) checkpoints.save(step, content(`at ${step}`));
  expect(checkpoints.list()).toEqual([9, 10, 100]);
  expect(newest()).toEqual({ step: 100, word: "at 100", warnings: [] });
  expect(checkpoints.latest(() => {})?.read("place.json")).toEqual(new TextEncoder().encode("{}"));
  checkpoints.prune(2);
  expect([checkpoints.list(), hidden()]).toEqual([[10, 100], []]);
  expect(() => checkpoints.prune(0)).toThrow(ConfigError);
});

it("goes by the step in the manifest, not by the name of the folder", () => {
  const checkpoints = new Checkpoints(folder);
  for (const step of [5, 10]) checkpoints.save(step, content(`at ${step}`));
  renameSync(join(folder, "5"), join(folder, "5000"));
  mkdirSync(join(folder, "backup"));
  expect(newest()).toEqual({ step: 10, word: "at 10", warnings: [] });
  expect(checkpoints.list()).toEqual([5, 10]);
});

describe("a damaged checkpoint is named, and the one before is used", () => {
  const weights = "20/weights.safetensors";
  const manifest = "20/manifest.json";
  it.each<[string, () => void]>([
    ["weights.safetensors has 3 bytes, and 8 were written", () => truncateSync(join(folder, weights), 3)],
    [
      "weights.safetensors has changed since it was written (its SHA-256 differs)",
      () => edit(weights, (text) => text.replace("second", "Second")),
    ],
    ["weights.safetensors is missing", () => rmSync(join(folder, weights))],
    ["manifest.json is missing", () => rmSync(join(folder, manifest))],
    ["manifest.json is not JSON", () => truncateSync(join(folder, manifest), 40)],
    ["manifest.json is not JSON", () => truncateSync(join(folder, manifest), 0)],
    ["manifest.json is not a file of at most 1 MB", () => truncateSync(join(folder, manifest), 2_000_000)],
    [
      "manifest.json is not a manifest: version: Invalid input: expected 1",
      () => edit(manifest, (text) => text.replace('"version": 1', '"version": 2')),
    ],
    [
      "manifest.json is not a manifest: files.0.name: Invalid string",
      () => edit(manifest, (text) => text.replace("weights", "../10/weights")),
    ],
    [
      "manifest.json is not a manifest: files: two files have the same name",
      () => edit(manifest, (text) => text.replace("place.json", "weights.safetensors")),
    ],
    [
      "manifest.json is not a manifest: files.0.bytes: Invalid input",
      () => edit(manifest, (text) => text.replace('"bytes": 8', '"bytes": "8"')),
    ],
    [
      "weights.safetensors has 8 bytes, and 9007199254740991 were written",
      () => edit(manifest, (text) => text.replace('"bytes": 8', '"bytes": 9007199254740991')),
    ],
    [
      "manifest.json cannot be read (ENOTDIR)",
      () => {
        rmSync(join(folder, "20"), { recursive: true });
        writeFileSync(join(folder, "20"), "");
      },
    ],
  ])("%s", (problem, damage) => {
    const checkpoints = new Checkpoints(folder);
    checkpoints.save(10, content("first"));
    checkpoints.save(20, content("second"));
    damage();
    const found = newest();
    expect([found.step, found.word, found.warnings.length]).toEqual([10, "first", 1]);
    expect(found.warnings[0]).toMatch(`the checkpoint ${join(folder, "20")} is damaged: ${problem}`);
    expect(found.warnings[0]).toMatch(/; it is passed over$/);
    new Checkpoints(folder).save(20, content("second"));
    expect(newest()).toEqual({ step: 20, word: "second", warnings: [] });
  });

  it("and pruning never counts it", () => {
    const checkpoints = new Checkpoints(folder);
    for (const step of [10, 20, 30]) checkpoints.save(step, content("second"));
    edit("30/weights.safetensors", (text) => text.replace("second", "Second"));
    edit("20/weights.safetensors", (text) => text.replace("second", "Second"));
    const resumed = new Checkpoints(folder);
    resumed.save(15, content("third"));
    resumed.prune(2);
    expect(resumed.list()).toEqual([10, 15, 20, 30]);
    expect(newest().step).toBe(15);
  });

  it("also when the damage comes after it was found", () => {
    new Checkpoints(folder).save(10, content("second"));
    const found = new Checkpoints(folder).latest(() => {});
    edit("10/weights.safetensors", (text) => text.replace("second", "Second"));
    expect(() => found?.read("weights.safetensors")).toThrow(/the checkpoint .*10 is damaged: weights.safetensors has changed/);
    expect(() => found?.read("wieghts")).toThrow(/has no file wieghts; it has weights.safetensors, place.json/);
  });
});

class Kill extends Error {}

/** Saves, and dies at the n-th pause; says at which stage, or "end" if it came to its end. */
function saveAndDie(after: number, step: number, word: string): string {
  let calls = 0;
  let last = "end";
  const pause = (stage: string) => {
    last = stage;
    if (calls++ === after) throw new Kill();
  };
  try {
    new Checkpoints(folder, { pause }).save(step, content(word));
    return "end";
  } catch (error) {
    expect(error).toBeInstanceOf(Kill);
    return last;
  }
}

describe("a kill at any moment leaves a whole checkpoint", () => {
  it("of the step before, or of this one", () => {
    const stages: string[] = [];
    for (let after = 0; stages.at(-1) !== "end"; after++) {
      rmSync(folder, { recursive: true, force: true });
      new Checkpoints(folder).save(10, content("first"));
      const stage = saveAndDie(after, 20, "second");
      stages.push(stage);
      const wanted = stage === "placed" || stage === "end" ? { step: 20, word: "second" } : { step: 10, word: "first" };
      expect(newest(), stage).toEqual({ ...wanted, warnings: [] });
      expect(hidden().length > 0).toBe(wanted.step === 10);
      new Checkpoints(folder).clean();
      expect(hidden()).toEqual([]);
      expect(newest(), stage).toEqual({ ...wanted, warnings: [] });
    }
    const writing = ["writing weights.safetensors", "writing weights.safetensors", "writing place.json"];
    expect(stages).toEqual(["started", ...writing, "written", "described", "placed", "end"]);
  });

  it("of the same step while it is replaced", () => {
    const stages: string[] = [];
    for (let after = 0; stages.at(-1) !== "end"; after++) {
      rmSync(folder, { recursive: true, force: true });
      new Checkpoints(folder).save(20, content("old"));
      const stage = saveAndDie(after, 20, "new");
      stages.push(stage);
      const word = ["beside", "deleting", "moved", "placed", "end"].includes(stage) ? "new" : "old";
      expect(newest(), stage).toEqual({ step: 20, word, warnings: [] });
      if (after % 2 === 0) new Checkpoints(folder).clean();
      else new Checkpoints(folder).save(20, content(word)); // going on without cleaning is safe too
      expect(newest(), stage).toEqual({ step: 20, word, warnings: [] });
      new Checkpoints(folder).clean();
      expect(readdirSync(folder)).toEqual(["20"]);
    }
    expect(stages.slice(-5)).toEqual(["beside", "deleting", "moved", "placed", "end"]);
  });

  it("and what is saved after it counts, even if it is what stood there first", () => {
    new Checkpoints(folder).save(20, content("old"));
    expect([0, 1, 2, 3, 4, 5, 6].map((after) => saveAndDie(after, 20, "new")).at(-1)).toBe("beside");
    new Checkpoints(folder).save(20, content("old"));
    expect(newest()).toEqual({ step: 20, word: "old", warnings: [] });
    mkdirSync(join(folder, "notes.new"));
    new Checkpoints(folder).clean();
    expect(readdirSync(folder)).toEqual(["20", "notes.new"]);
  });

  it("while the oldest are removed", () => {
    for (const step of [10, 20]) new Checkpoints(folder).save(step, content(`at ${step}`));
    const pause = () => {
      throw new Kill();
    };
    expect(() => new Checkpoints(folder, { pause }).prune(1)).toThrow(Kill);
    expect(newest()).toEqual({ step: 20, word: "at 20", warnings: [] });
    expect([new Checkpoints(folder).list(), hidden().length]).toEqual([[20], 1]);
    new Checkpoints(folder).clean();
    expect(hidden()).toEqual([]);
  });
});

it("does nothing when the same checkpoint is there already", () => {
  new Checkpoints(folder).save(10, content("first"));
  const stages: string[] = [];
  new Checkpoints(folder, { pause: (stage) => stages.push(stage) }).save(10, content("first"));
  expect(stages).toEqual([]);
});

it("refuses steps and names that are no steps and no names", () => {
  const checkpoints = new Checkpoints(folder);
  for (const step of [-1, 1.5, Number.NaN, 2 ** 53]) expect(() => checkpoints.save(step, content("x"))).toThrow(RunError);
  for (const name of ["", "..", ".hidden", "a/b", "a\\b", "manifest.json", "a\0"]) {
    expect(() => checkpoints.save(1, new Map([[name, []]]))).toThrow(/cannot be named/);
  }
  expect(existsSync(folder)).toBe(false);
});
