import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

// Twenty seconds of what docs/serving.md tells of five minutes: 64 clients at once, of which a third leave and a tenth send nonsense.

const root = join(import.meta.dirname, "../..");

it("under load every answer is the one that is given alone, and nothing is left behind", () => {
  const args = ["--model", "small", "--seconds", "20", "--streams", "64", "--only", "chaos", "--json"];
  const found = JSON.parse(
    execFileSync(process.execPath, [join(root, "scripts/serve-load.mjs"), ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  expect(found.answers).toMatchObject({ different: 0, broken: 0, wrongStatus: 0 });
  expect(found.answers.whole).toBeGreaterThan(50);
  expect(found.answers.left).toBeGreaterThan(10);
  expect(found.answers.refused).toBeGreaterThan(5);
  expect(found.left).toMatchObject({ running: 0, waiting: 0, rows: 0, crashes: 0 });
  expect(found.health.failed).toBe(0);
});
