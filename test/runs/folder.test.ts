import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { clearRun, heldBy, lockRun } from "../../src/runs/folder.ts";
import { Log } from "../../src/runs/log.ts";

const place = mkdtempSync(join(tmpdir(), "qkv-folder-"));
afterAll(() => rmSync(place, { recursive: true }));

function folder(name: string, files: Readonly<Record<string, string>> = {}): string {
  mkdirSync(join(place, name));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(place, name, file), text);
  return join(place, name);
}

it("one process holds a folder once", () => {
  const own = folder("held");
  const unlock = lockRun(own);
  expect(() => lockRun(own)).toThrow(`this process is training in ${own} already`);
  unlock();
  lockRun(own)();
  expect(readdirSync(own)).toEqual([]);
});

it("a lock that somebody else has taken since is left to them", () => {
  const own = folder("taken");
  const unlock = lockRun(own);
  writeFileSync(join(own, "lock"), "1");
  unlock();
  expect(readFileSync(join(own, "lock"), "utf8")).toBe("1");
});

it("a tokenizer of somebody else is not replaced unasked", () => {
  const other = folder("other", { "tokenizer.json": "{}" });
  expect(() => clearRun(other, false)).toThrow("has no config.json, but tokenizer.json of something else");
  expect(readdirSync(other)).toEqual(["tokenizer.json"]);
});

it("a config.json that is not that of a run is not replaced, even when asked", () => {
  const foreign = folder("foreign", { "config.json": '{"architectures":["BertModel"]}', "model.safetensors": "" });
  expect(() => clearRun(foreign, true)).toThrow("is not that of a run, so overwrite: true leaves it alone");
  expect(readdirSync(foreign)).toHaveLength(2);
});

it("a log that lost lines goes on with what is left, and says so", () => {
  const file = join(folder("log", { "log.jsonl": '{"step":1}\n' }), "log.jsonl");
  const log = new Log(file, 500);
  expect(log.lost).toBe(true);
  log.append({ step: 9 });
  log.sync();
  log.close();
  expect(readFileSync(file, "utf8")).toBe('{"step":1}\n{"step":9}\n');
});

it("a lock of another host counts as long as somebody touches it", () => {
  const own = folder("elsewhere");
  const lock = join(own, "lock");
  writeFileSync(lock, "1 elsewhere");
  expect(() => lockRun(own)).toThrow(/process 1 on elsewhere is training in/);
  const old = new Date(Date.now() - 300_000);
  utimesSync(lock, old, old);
  lockRun(own)();
  expect(existsSync(lock)).toBe(false);
});

it("a lock says whether its holder is one of many ranks, and on another host", () => {
  const own = folder("ranks");
  expect(heldBy(own)).toEqual({ elsewhere: false, ranks: 1 });
  const unlock = lockRun(own, 3);
  expect(heldBy(own)).toEqual({ elsewhere: false, ranks: 3 });
  unlock();
  writeFileSync(join(own, "lock"), "1 elsewhere");
  expect(heldBy(own)).toEqual({ elsewhere: true, ranks: 1 });
});
