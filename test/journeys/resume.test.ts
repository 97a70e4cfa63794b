import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { contents, expectRefusal, outcome, tiny, Workplace } from "../support/command.ts";
import { rhyme } from "./samples.ts";

// A run goes on exactly where it stopped, or says why it cannot.

const place = new Workplace();
const often = [...tiny, "--steps", "12", "--eval-every", "3", "--save-every", "3"];
const stepsOf = (run: string) => JSON.parse(readFileSync(place.path(run, "config.json"), "utf8")).training.steps;

beforeAll(async () => {
  place.write("a.txt", rhyme);
  await place.done("train", "a.txt", ...often, "--out", "run");
});

const copied = (name: string): string => {
  cpSync(place.path("run"), place.path(name), { recursive: true });
  return name;
};

it("says that a finished run is finished", async () => {
  const before = contents(place.path("run"));
  const { stdout, stderr } = await place.done("train", "--resume", "run");
  expect(stderr).toMatch(/^run already has its 12 steps; train longer with: qkv train --resume run --steps <more>$/m);
  expect(stdout).toBe("run\n");
  expect((await place.done("train", "--resume", "run", "--json")).stderr).toMatch(/^run already has its 12 steps/m);
  expect(contents(place.path("run"))).toEqual(before);
});

it("has nothing to do for fewer steps than were taken, says so, and changes nothing", async () => {
  const run = copied("fewer");
  const { stderr } = await place.done("train", "--resume", run, "--steps", "5");
  expect(stderr).toMatch(/^fewer already has .*12 steps/m);
  expect(contents(place.path(run))).toEqual(contents(place.path("run")));
});

it("names --patience where patience ended the run", async () => {
  await place.done("train", "a.txt", ...often, "--lr", "0", "--patience", "1", "--out", "patient");
  const { stderr } = await place.done("train", "--resume", "patient");
  expect(stderr).toMatch(/^patient .*stopped at step 6.*--patience/m);
  const { stdout } = await place.done("train", "--resume", "patient", "--patience", "3", "--quiet", "--json");
  expect(JSON.parse(stdout).steps).toBe(12);
});

it("takes more steps, other intervals and another patience", async () => {
  const run = copied("more");
  const { stdout } = await place.done(
    "train",
    "--resume",
    run,
    ..."--steps 20 --eval-every 4 --save-every 10 --patience 9 --json --quiet".split(" "),
  );
  expect(JSON.parse(stdout).steps).toBe(20);
  expect([stepsOf(run), readdirSync(place.path(run, "checkpoints"))]).toEqual([20, expect.arrayContaining(["20"])]);
  const steps = outcome(place.path(run)).log.map((line) => (line as { step: number }).step);
  expect([...new Set(steps)]).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
});

it.each([["--lr", "0.5"], ["--batch", "8"], ["--width", "32"], ["--tokenizer", "byte"], ["--seed", "2"], ["--no-tie"], ["--keep", "5"]])(
  "refuses to change %s",
  async (...flag) => {
    const before = contents(place.path("run"));
    expectRefusal(
      await place.qkv("train", "--resume", "run", ...flag),
      2,
      `ConfigError: ${flag[0]} cannot be changed when a run goes on; only --steps, --eval-every, --save-every, --parts-every, --patience, --threads and --device can. Train a new run for another ${flag[0]}\n`,
    );
    expect(contents(place.path("run"))).toEqual(before);
  },
);

it("takes what the run has already, if it is said again", async () => {
  const run = copied("said-again");
  const { training, model } = JSON.parse(readFileSync(place.path(run, "config.json"), "utf8"));
  const again = ["--lr", `${training.lr}`, "--width", `${model.width}`, "--seed", `${training.seed}`, "--batch", `${training.batch}`];
  await place.done("train", "--resume", run, ...again, "--steps", "20", "--quiet");
  expect(stepsOf(run)).toBe(20);
});

it("refuses data that has changed, and goes on when the old data is back", async () => {
  const run = copied("other-data");
  const before = contents(place.path(run));
  appendFileSync(place.path("a.txt"), "one line more\n");
  const result = await place.qkv("train", "--resume", run, "--steps", "15");
  writeFileSync(place.path("a.txt"), rhyme);
  expectRefusal(
    result,
    1,
    /^RunError: \S+\/a\.txt: the data has changed since the run began \(its SHA-256 was [0-9a-f]{12}…\); put the old data back, or train a new run\n$/,
  );
  expect(contents(place.path(run))).toEqual(before);
  await place.done("train", "--resume", run, "--steps", "15");
});

it("refuses data that is gone, by its name", async () => {
  const run = copied("no-data");
  rmSync(place.path("a.txt"));
  const result = await place.qkv("train", "--resume", run, "--steps", "15");
  writeFileSync(place.path("a.txt"), rhyme);
  expectRefusal(result, 1, `DataError: ${place.path("a.txt")}: no such file`);
});

it("says that there is no run", async () => {
  expectRefusal(await place.qkv("train", "--resume", "nowhere"), 1, "RunError: nowhere is not a run folder: there is no config.json");
  expect(existsSync(place.path("nowhere"))).toBe(false);
});

it.each(["weights.safetensors", "optimizer.safetensors", "state.json", "manifest.json"])(
  "passes over a newest checkpoint whose %s is damaged, with a warning, and comes to the same end",
  async (name) => {
    const run = copied(`damaged-${name}`);
    const file = place.path(run, "checkpoints/12", name);
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1] ^= 0x10;
    writeFileSync(file, bytes);
    const { stderr } = await place.done("train", "--resume", run);
    expect(stderr).toMatch(new RegExp(`^warning: the checkpoint ${run}/checkpoints/12 is damaged: .*; it is passed over$`, "m"));
    expect(stderr).toMatch(new RegExp(`^going on at step 9 in ${run}$`, "m"));
    expect(outcome(place.path(run))).toEqual(outcome(place.path("run")));
  },
);

it("begins again when every checkpoint is gone, and comes to the same end", async () => {
  const run = copied("no-checkpoints");
  rmSync(place.path(run, "checkpoints"), { recursive: true });
  await place.done("train", "--resume", run);
  expect(outcome(place.path(run))).toEqual(outcome(place.path("run")));
});

it("begins again after a kill before the first checkpoint", async () => {
  const flags = [...tiny, "--steps", "400", "--eval-every", "400", "--save-every", "400"];
  const running = place.start("train", "a.txt", ...flags, "--out", "killed");
  await running.said(/^step 1\/400/m);
  running.signal("SIGKILL");
  expect((await running.ended).code).toBeNull();
  expect(existsSync(place.path("killed/checkpoints"))).toBe(false);
  expect((await place.done("train", "--resume", "killed")).stderr).toMatch(/^into killed$/m);
  await place.done("train", "a.txt", ...flags, "--quiet", "--out", "never-killed");
  expect(outcome(place.path("killed"))).toEqual(outcome(place.path("never-killed")));
});
