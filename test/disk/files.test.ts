import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { RunError } from "../../src/base/errors.ts";
import { Checkpoints } from "../../src/disk/checkpoints.ts";
import { diskError, removeTemporaries, writeDurably } from "../../src/disk/files.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "qkv-disk-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function failure(work: () => void): string {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(RunError);
    return (error as Error).message;
  }
  throw new Error("nothing failed");
}

it("writes parts one after the other, or a text, over what was there", () => {
  const file = join(folder, "model");
  writeDurably(file, [Uint8Array.of(1, 2), new Uint8Array(0), Uint8Array.of(3)]);
  expect([...readFileSync(file)]).toEqual([1, 2, 3]);
  writeDurably(file, "é");
  expect(readFileSync(file, "utf8")).toBe("é");
  expect(readdirSync(folder)).toEqual(["model"]);
});

it("says what stands in the way, leaves it, and leaves nothing else", () => {
  writeFileSync(join(folder, "file"), "");
  mkdirSync(join(folder, "taken"));
  expect(failure(() => writeDurably(join(folder, "file/model"), "x"))).toBe(
    `could not write 0.0 MB to ${folder}/file/model: a part of this path is a file, not a folder; move it away, or choose another folder`,
  );
  expect(failure(() => writeDurably(join(folder, "taken"), "x"))).toBe(
    `could not write 0.0 MB to ${folder}/taken: a folder stands where a file should be; move it away`,
  );
  expect(failure(() => writeDurably(join(folder, "none/model"), "x"))).toMatch(/there is no such file or folder; check the path$/);
  expect(failure(() => writeDurably(join(folder, "a".repeat(300)), "x"))).toMatch(/the name is too long; choose a shorter one$/);
  expect(failure(() => new Checkpoints(join(folder, "file")).save(1, new Map()))).toMatch(/^could not save the checkpoint of step 1 /);
  expect(failure(() => new Checkpoints(join(folder, "file")).latest(() => {}))).toMatch(/^could not read the checkpoints in /);
  expect(readdirSync(folder).sort()).toEqual(["file", "taken"]);
});

it("removes what a kill left, and nothing else", () => {
  for (const name of [".model.safetensors.123.tmp", ".keep", "notes.1.tmp"]) writeFileSync(join(folder, name), "");
  removeTemporaries(folder);
  expect(readdirSync(folder).sort()).toEqual([".keep", "notes.1.tmp"]);
});

it("explains errors of the system only", () => {
  const system = (code: string) => Object.assign(new Error(code), { code, syscall: "write", errno: -1 });
  expect(diskError(system("EDQUOT"), "runs/x", "write to").message).toBe(
    "could not write to runs/x: your share of the disk is used up; free some space",
  );
  expect(diskError(system("EWEIRD"), "runs/x", "write to").message).toBe("could not write to runs/x: the system answered EWEIRD");
  const bug = new TypeError("a bug");
  expect(() => diskError(bug, "runs/x", "write to")).toThrow(bug);
  const told = new RunError("told already");
  expect(diskError(told, "runs/x", "write to")).toBe(told);
});

/** Mounting needs a privilege that a machine may not give. */
function mounts(): boolean {
  const place = mkdtempSync(join(tmpdir(), "qkv-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", place], { stdio: "ignore" });
    execFileSync("umount", [place], { stdio: "ignore" });
    return true;
  } catch {
    console.warn("the tests of a full and of a read-only disk are skipped: mounting a tmpfs is not allowed here");
    return false;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

describe.skipIf(!mounts())("on a disk of 1 MB", () => {
  let disk = "";
  beforeAll(() => {
    disk = mkdtempSync(join(tmpdir(), "qkv-small-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]);
  });
  afterAll(() => {
    execFileSync("umount", [disk]);
    rmSync(disk, { recursive: true, force: true });
  });

  const files = (bytes: number) => new Map([["weights", [new Uint8Array(bytes / 2), new Uint8Array(bytes / 2)]]]);

  it("a checkpoint that does not fit leaves the one before, and all its space", () => {
    const run = join(disk, "checkpoints");
    const checkpoints = new Checkpoints(run);
    checkpoints.save(1, files(500_000));
    expect(failure(() => checkpoints.save(2, files(800_000)))).toBe(
      `could not save the checkpoint of step 2 (0.8 MB) in ${run}: the disk is full; free some space`,
    );
    expect(failure(() => checkpoints.save(1, files(800_000)))).toMatch(/the disk is full; free some space$/);
    expect(readdirSync(run)).toEqual(["1"]);
    expect(new Checkpoints(run).latest(() => {})?.read("weights").length).toBe(500_000);
    checkpoints.save(3, files(400_000));
    checkpoints.prune(1);
    expect(checkpoints.list()).toEqual([3]);
  });

  it("a file that does not fit leaves the one before", () => {
    const file = join(disk, "model");
    writeDurably(file, "before");
    expect(failure(() => writeDurably(file, [new Uint8Array(2_000_000)]))).toBe(
      `could not write 2.0 MB to ${file}: the disk is full; free some space`,
    );
    expect(readFileSync(file, "utf8")).toBe("before");
    expect(readdirSync(disk).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("a disk that becomes read-only keeps what it has, and says so", () => {
    const run = join(disk, "read-only");
    new Checkpoints(run).save(1, files(10));
    execFileSync("mount", ["-o", "remount,ro", disk]);
    try {
      const checkpoints = new Checkpoints(run);
      expect(failure(() => checkpoints.save(2, files(10)))).toMatch(/: the disk is read-only; choose a folder on another one$/);
      expect(failure(() => writeDurably(join(disk, "new"), "x"))).toMatch(/: the disk is read-only; choose a folder on another one$/);
      expect(checkpoints.latest(() => {})?.step).toBe(1);
    } finally {
      execFileSync("mount", ["-o", "remount,rw", disk]);
    }
  });
});
