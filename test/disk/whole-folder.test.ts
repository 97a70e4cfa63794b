import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { RunError } from "../../src/base/errors.ts";
import { BrokenOff, type WholeFolder, writeWholeFolder } from "../../src/disk/whole-folder.ts";
import { contents } from "../support/command.ts";

let place = "";
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "qkv-whole-"));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

const owns = (file: string) => ["config.json", "onnx/model.onnx"].includes(file);
const options = (more: Partial<WholeFolder> = {}): WholeFolder => ({ folder: join(place, "out"), what: "the export", owns, ...more });

const filled = (text: string) => (folder: string) => {
  mkdirSync(join(folder, "onnx"));
  writeFileSync(join(folder, "onnx/model.onnx"), text);
  writeFileSync(join(folder, "config.json"), "{}");
  return text.length;
};

const model = () => readFileSync(join(place, "out/onnx/model.onnx"), "utf8");

async function failure(work: Promise<unknown>): Promise<RunError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(RunError);
  return error as RunError;
}

it("appears when it is whole, with the folders on the way, and gives back what filling gave", async () => {
  const folder = join(place, "a/b/out");
  const seen = await writeWholeFolder(options({ folder }), (temporary) => {
    expect(existsSync(folder)).toBe(false);
    return filled("one")(temporary);
  });
  expect(seen).toBe(3);
  expect(Object.keys(contents(join(place, "a")))).toEqual(["b/out/config.json", "b/out/onnx/model.onnx"]);
});

it("takes an empty folder, and one behind a link", async () => {
  mkdirSync(join(place, "real"));
  symlinkSync(join(place, "real"), join(place, "out"));
  await writeWholeFolder(options(), filled("one"));
  expect(readdirSync(place).sort()).toEqual(["out", "real"]);
  expect(model()).toBe("one");
  await writeWholeFolder(options({ overwrite: true }), filled("two"));
  expect(readFileSync(join(place, "real/onnx/model.onnx"), "utf8")).toBe("two");
});

it("replaces nothing unless it may, and then only its own kind", async () => {
  await writeWholeFolder(options(), filled("one"));
  const taken = await failure(writeWholeFolder(options(), filled("two")));
  expect(taken.code).toBe("run.exists");
  expect(taken.message).toBe(`${place}/out is there already; choose another out, or replace it with overwrite: true`);
  writeFileSync(join(place, "out/thesis.txt"), "years of work");
  const foreign = await failure(writeWholeFolder(options({ overwrite: true }), filled("two")));
  expect(foreign.message).toBe(
    `${place}/out holds thesis.txt, which is no part of the export, so overwrite: true leaves it alone; choose another out`,
  );
  expect(model()).toBe("one");
  rmSync(join(place, "out/thesis.txt"));
  await writeWholeFolder(options({ overwrite: true }), filled("two"));
  expect(model()).toBe("two");
  expect(readdirSync(place)).toEqual(["out"]);
});

it("refuses what appeared meanwhile, and a file in its place", async () => {
  const late = writeWholeFolder(options(), (temporary) => {
    mkdirSync(join(place, "out"));
    writeFileSync(join(place, "out/config.json"), "somebody else's");
    return filled("one")(temporary);
  });
  expect((await failure(late)).code).toBe("run.exists");
  expect(readdirSync(place)).toEqual(["out"]);
  expect(readFileSync(join(place, "out/config.json"), "utf8")).toBe("somebody else's");
  writeFileSync(join(place, "file"), "");
  expect((await failure(writeWholeFolder(options({ folder: join(place, "file") }), filled("one")))).message).toMatch(
    /^could not look into .*file: a part of this path is a file, not a folder/,
  );
});

it("leaves nothing when filling fails, and the old one where there was one", async () => {
  const broken = (folder: string) => {
    filled("two")(folder);
    throw new RunError("no more");
  };
  await failure(writeWholeFolder(options({ folder: join(place, "a/b") }), broken));
  expect(readdirSync(place)).toEqual([]);
  await writeWholeFolder(options(), filled("one"));
  const before = contents(place);
  await failure(writeWholeFolder(options({ overwrite: true }), broken));
  expect(contents(place)).toEqual(before);
});

describe("a kill", () => {
  const killedAt = (stage: string): Partial<WholeFolder> => ({
    overwrite: true,
    pause: (now) => {
      if (now === stage) throw new BrokenOff();
    },
  });

  it.each(["started", "filled", "synced", "aside", "placed"])(
    "at the stage %s leaves the old or the new, and no more after the next",
    async (stage) => {
      await writeWholeFolder(options(), filled("one"));
      await expect(writeWholeFolder(options(killedAt(stage)), filled("two"))).rejects.toThrow(BrokenOff);
      if (stage === "aside") expect(existsSync(join(place, "out"))).toBe(false);
      else expect(model()).toBe(stage === "placed" ? "two" : "one");
      if (stage === "aside")
        expect((await failure(writeWholeFolder(options({ overwrite: false }), filled("three")))).code).toBe("run.exists");
      await writeWholeFolder(options({ overwrite: true }), filled("three"));
      expect(model()).toBe("three");
      expect(readdirSync(place)).toEqual(["out"]);
    },
  );

  it("of another process leaves what the next removes; what a living one writes stays", async () => {
    const dead = spawnSync("true").pid;
    for (const name of [`.out.${dead}.writing`, `.out.${process.ppid}.writing`, ".outer.1.writing"]) mkdirSync(join(place, name));
    await writeWholeFolder(options(), filled("one"));
    expect(readdirSync(place).sort()).toEqual([`.out.${process.ppid}.writing`, ".outer.1.writing", "out"].sort());
  });
});

describe("a full disk", () => {
  const disk = mkdtempSync(join(tmpdir(), "qkv-whole-disk-"));
  const mounted = process.platform === "linux" && spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]).status === 0;
  if (!mounted) console.log("skipped: a small disk cannot be mounted here");
  afterAll(() => {
    if (mounted) spawnSync("umount", [disk]);
    rmSync(disk, { recursive: true, force: true });
  });

  it.skipIf(!mounted)("is said in a sentence, and leaves what was there", async () => {
    const folder = join(disk, "out");
    await writeWholeFolder(options({ folder }), filled("one"));
    const before = contents(disk);
    const error = await failure(writeWholeFolder(options({ folder, overwrite: true }), filled("x".repeat(100_000))));
    expect(error.code).toBe("run.disk");
    expect(error.message).toBe(`could not write the export to ${folder}: the disk is full; free some space`);
    expect(contents(disk)).toEqual(before);
    expect(readdirSync(disk)).toEqual(["out"]);
  });
});
