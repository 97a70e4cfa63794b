import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contents, expectRefusal, outcome, tiny, Workplace } from "../support/command.ts";
import { rhyme } from "./samples.ts";

// A disk that is full or read-only: one sentence, the checkpoint before is whole, and the run goes on when there is room.

const place = new Workplace();
const disk = mkdtempSync(join(tmpdir(), "qkv-disk-"));
const mount = (...args: readonly string[]) => spawnSync("mount", args, { encoding: "utf8" });
const size = (bytes: string) => expect(mount("-o", `remount,rw,size=${bytes}`, disk).status).toBe(0);

const mounted = process.platform === "linux" ? mount("-t", "tmpfs", "-o", "size=128k", "tmpfs", disk) : undefined;
const permitted = mounted?.status === 0;
if (!permitted)
  console.log(`skipped: a small disk cannot be mounted here (${mounted?.stderr?.trim() || mounted?.error?.message || process.platform})`);

const flags = [...tiny, "--save-every", "2", "--valid-fraction", "0", "--optimizer", "adamw"]; // whose state fills the disk

beforeAll(() => {
  place.write("a.txt", rhyme);
});

afterAll(() => {
  if (permitted) spawnSync("umount", [disk]);
  rmSync(disk, { recursive: true, force: true });
});

describe.skipIf(!permitted)("a small disk", () => {
  const run = join(disk, "run");

  it("says that it is full, and leaves the checkpoint before whole", async () => {
    const result = await place.qkv("train", "a.txt", ...flags, "--out", run);
    expectRefusal(result, 1, /^RunError: could not save the checkpoint of step 4 /m);
    expect(result.stderr).toContain(
      ` in ${run}/checkpoints: the disk is full; free some space; go on from the last checkpoint with: qkv train --resume ${run}\n`,
    );
    expect(
      Object.keys(contents(run))
        .filter((name) => name.startsWith("checkpoints"))
        .sort(),
    ).toEqual(["manifest.json", "optimizer.safetensors", "state.json", "weights.safetensors"].map((name) => `checkpoints/2/${name}`));
    expect(JSON.parse((await place.done("info", run, "--json")).stdout)).toMatchObject({ step: 2, best: { step: 2 } });
  });

  it("says it again when the run goes on too early", async () => {
    const before = contents(join(run, "checkpoints"));
    expectRefusal(
      await place.qkv("train", "--resume", run),
      1,
      /could not save the checkpoint of step 4 .*the disk is full; free some space/,
    );
    expect(contents(join(run, "checkpoints"))).toEqual(before);
  });

  it("goes on when there is room, to the same end as a run that was never stopped", async () => {
    size("2m");
    expect((await place.done("train", "--resume", run)).stderr).toMatch(/going on at step 2/);
    await place.done("train", "a.txt", ...flags, "--out", "reference");
    expect(outcome(run)).toEqual(outcome(place.path("reference")));
  });

  it("refuses a new run where nothing fits, and leaves nothing that looks like a run", async () => {
    const other = join(disk, "other");
    size("2m");
    const filler = spawnSync("dd", ["if=/dev/zero", `of=${join(disk, "filler")}`, "bs=4096"]);
    expect(filler.status).not.toBe(0);
    const result = await place.qkv("train", "a.txt", ...flags, "--out", other);
    rmSync(join(disk, "filler"));
    expectRefusal(result, 1, /^RunError: could not .*the disk is full; free some space/m);
    expect(existsSync(join(other, "config.json"))).toBe(false);
    await place.done("train", "a.txt", ...flags, "--out", other);
  });

  describe("that is read-only", () => {
    beforeAll(() => {
      mkdirSync(join(disk, "empty"));
      expect(mount("-o", "remount,ro", disk).status).toBe(0);
    });

    it.each<[string, string, string[]]>([
      ["a new folder", "third", []],
      ["an empty folder", "empty", []],
      ["a run to replace", "run", ["--overwrite"]],
    ])("refuses %s, and says why", async (_, name, more) => {
      const before = contents(disk);
      const folder = join(disk, name);
      const result = await place.qkv("train", "a.txt", ...flags, ...more, "--out", folder);
      expectRefusal(result, 1, new RegExp(`^RunError: could not .* ${folder}.*: the disk is read-only; choose a folder on another one\n$`));
      expect(contents(disk)).toEqual(before);
    });

    it("refuses to go on, and says why", async () => {
      const result = await place.qkv("train", "--resume", run, "--steps", "9");
      expectRefusal(result, 1, `RunError: could not write into ${run}: the disk is read-only; choose a folder on another one\n`);
    });

    it("evaluates and describes a run", async () => {
      expect((await place.done("info", run)).stdout).toContain("6 of 6 steps");
      expect(JSON.parse((await place.done("eval", run, "a.txt", "--json")).stdout).loss).toBeGreaterThan(0);
    });
  });
});

it("says that a file stands where the run folder should be", async () => {
  const result = await place.qkv("train", "a.txt", ...tiny, "--out", "a.txt/run");
  expectRefusal(
    result,
    1,
    "RunError: could not make the run folder a.txt/run: a part of this path is a file, not a folder; move it away, or choose another folder\n",
  );
});
