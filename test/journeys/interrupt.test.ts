import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { beforeAll, expect, it } from "vitest";
import { readSafetensors } from "../../src/weights/safetensors.ts";
import { outcome, tiny, Workplace } from "../support/command.ts";
import { rhyme } from "./samples.ts";

// Ctrl-C saves, says how to go on, and exits with 130; a second one exits at once.

const place = new Workplace();
const long = [...tiny, "--steps", "900", "--eval-every", "450", "--save-every", "450"];

beforeAll(() => {
  place.write("a.txt", rhyme);
});

it.each(["SIGINT", "SIGTERM"] as const)("saves at %s, and goes on to the same end as a run that was never stopped", async (signal) => {
  const run = `stopped-${signal}`;
  const running = place.start("train", "a.txt", ...long, "--out", run);
  await running.said(/^step 1\/900/m);
  running.signal(signal);
  const { code, stdout, stderr } = await running.ended;
  expect([code, stdout]).toEqual([130, ""]);
  const [, step] = stderr.match(new RegExp(`^stopped at step (\\d+) and saved; go on with: qkv train --resume ${run}$`, "m")) ?? [];
  expect(Number(step), stderr).toBeLessThan(900);
  expect(readdirSync(place.path(run, "checkpoints"))).toContain(step);
  expect(existsSync(place.path(run, "lock"))).toBe(false);
  const resumed = await place.done("train", "--resume", run);
  expect(resumed.stderr).toMatch(new RegExp(`^going on at step ${Number(step).toLocaleString("en")} in ${run}$`, "m"));
  if (!existsSync(place.path("reference"))) await place.done("train", "a.txt", ...long, "--quiet", "--out", "reference");
  expect(outcome(place.path(run))).toEqual(outcome(place.path("reference")));
});

it("leaves weights to use when it is stopped before the first validation, and they are those of its checkpoint", async () => {
  const running = place.start("train", "a.txt", ...long, "--out", "unvalidated");
  await running.said(/^step 1\/900/m);
  running.signal("SIGINT");
  expect((await running.ended).code).toBe(130);
  const { step, best } = JSON.parse((await place.done("info", "unvalidated", "--json")).stdout);
  expect(best).toEqual({ step, validLoss: null });
  const tensors = (file: string) => [...readSafetensors(readFileSync(place.path("unvalidated", file)), file).tensors];
  expect(tensors("model.safetensors")).toEqual(tensors(`checkpoints/${step}/weights.safetensors`));
  expect((await place.done("generate", "unvalidated", "the", "--tokens", "5")).stdout).toMatch(/^the/);
  expect(JSON.parse((await place.done("eval", "unvalidated", "--json")).stdout).loss).toBeGreaterThan(0);
});

it("prints its line of JSON also when it is stopped", async () => {
  const running = place.start("train", "a.txt", ...long, "--json", "--out", "json");
  await running.said(/^step 1\/900/m);
  running.signal("SIGINT");
  const { code, stdout } = await running.ended;
  expect(code).toBe(130);
  const { steps, run } = JSON.parse(stdout);
  expect([steps > 0 && steps < 900, run]).toEqual([true, "json"]);
});

it("exits at once the second time, and loses nothing that was saved", async () => {
  const slow = "--layers 4 --heads 4 --width 256 --context 128 --batch 12 --steps 50 --eval-every 50 --save-every 1 --threads 1".split(" ");
  place.write("long.txt", rhyme.repeat(12));
  // Where the signals fall is chance: between two steps the first may be all that is seen before the end. A few tries meet the other case.
  for (let attempt = 0; ; attempt++) {
    const run = `twice-${attempt}`;
    const running = place.start("train", "long.txt", ...slow, "--out", run);
    while (!existsSync(place.path(run, "checkpoints/1/manifest.json"))) await running.said(/^step 1\/50/m);
    running.signal("SIGINT");
    running.signal("SIGTERM"); // counts the same; a second SIGINT could become one with the first on its way
    const { code, stdout, stderr } = await running.ended;
    expect([code, stdout]).toEqual([130, ""]);
    expect(stderr).toContain("stopping after this step, with a checkpoint; once more to stop at once");
    const { step } = JSON.parse((await place.done("info", run, "--json")).stdout);
    expect(step).toBeGreaterThanOrEqual(1);
    if (!stderr.includes("and saved")) break;
    expect(attempt, "the second signal never stopped it at once").toBeLessThan(8);
  }
});

it("exits with 130 before there is anything to save, and leaves no run behind", async () => {
  expect(spawnSync("mkfifo", [place.path("slow.tsv")]).status).toBe(0);
  const running = place.start("train", "slow.tsv", ...tiny, "--out", "early");
  const writer = await open(place.path("slow.tsv"), "w"); // opens when the command reads
  running.signal("SIGINT");
  await new Promise((resolve) => setTimeout(resolve, 200)); // time to receive it before the file ends
  await writer.close();
  expect(await running.ended).toEqual({ code: 130, stdout: "", stderr: "" });
  expect(existsSync(place.path("early"))).toBe(false);
});
