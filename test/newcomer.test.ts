import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

it("a newcomer trains, measures, labels a file, serves and looks, with the packed package in an empty folder", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, "../scripts/newcomer.mjs")], {
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(status, stdout).toBe(0);
  expect(stdout).toMatch(/all as expected, in [\d.]+ s\n$/);
}, 240_000);
