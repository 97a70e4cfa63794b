import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { droppingOf } from "../../src/runs/config.ts";
import { rhyme } from "../journeys/samples.ts";
import { tiny, Workplace } from "../support/command.ts";

// Runs go on with the dropout that they began with.

it("a run of before 0.3 drops by bytes of Threefry, one that says quick by those of the quick source, a new one by flags of these", () => {
  expect(droppingOf({})).toEqual({ source: "threefry", by: "bytes" });
  expect(droppingOf({ noise: "quick" })).toEqual({ source: "quick", by: "bytes" });
  expect(droppingOf({ noise: "flags" })).toEqual({ source: "quick", by: "flags" });
});

const place = new Workplace();
const config = (run: string) => place.path(run, "config.json");

beforeAll(() => place.write("a.txt", rhyme));

/** The losses of a run whose config says so from its first step on. */
async function lossesWith(noise: string | undefined): Promise<number[]> {
  const run = `run-${noise}`;
  await place.done("train", "a.txt", ...tiny, "--steps", "6", "--dropout", "0.3", "--quiet", "--out", run);
  const made = JSON.parse(readFileSync(config(run), "utf8"));
  expect(made.training.noise).toBe("flags");
  writeFileSync(config(run), JSON.stringify({ ...made, training: { ...made.training, noise } }));
  rmSync(place.path(run, "checkpoints"), { recursive: true });
  rmSync(place.path(run, "model.safetensors"));
  await place.done("train", "--resume", run, "--quiet");
  const lines = readFileSync(place.path(run, "log.jsonl"), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line)).flatMap(({ step, loss }) => (step !== undefined && loss !== undefined ? [loss] : []));
}

/** What `qkv cost` counts as dropout. */
async function dropoutCost(run: string): Promise<number> {
  const { parts } = JSON.parse((await place.done("cost", run, "--json")).stdout);
  return parts.find(({ name }: { name: string }) => name === "dropout").bytes;
}

it("begins again with what its config says", async () => {
  const [before, quick, flags] = [await lossesWith(undefined), await lossesWith("quick"), await lossesWith("flags")];
  expect(flags).toHaveLength(6);
  for (const [i, loss] of quick.entries()) expect(flags[i]).toBeCloseTo(loss, 3);
  expect(Math.abs(before[0] - quick[0])).toBeGreaterThan(1e-3);
  const [bytes, byFlags] = await Promise.all(["run-quick", "run-flags"].map(dropoutCost));
  expect(bytes).toBeGreaterThan(byFlags); // a mask is made, where flags are multiplied by
});
