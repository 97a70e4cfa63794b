import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { expectRefusal, Workplace } from "../support/command.ts";
import { noLauncher, startRanks } from "../support/ranks.ts";
import { rhyme } from "./samples.ts";

// qkv train <data> --minutes <n>, as a newcomer types it. How long it takes is not tested: machines are busy.

const place = new Workplace();
const config = (run: string) => JSON.parse(readFileSync(place.path(run, "config.json"), "utf8"));

beforeAll(() => {
  place.write("a.txt", rhyme);
});

it("says what it chose, and writes it down as settings", async () => {
  const { stderr } = await place.done("train", "a.txt", "--minutes", "0.05", "--threads", "1", "--out", "run");
  expect(stderr).toMatch(
    /^for 0\.05 minutes and this much data: \d+ layers?, width \d+, \d+ heads?, context \d+, dropout [\d.]+, batches of \d+$/m,
  );
  expect(stderr).toMatch(/^[\d,]+ steps of \d+(\.\d+)? (ms|s), by a trial of \d+: the data is read [\d.,]+ times$/m);
  const { model, training } = config("run");
  expect(training).toMatchObject({ minutes: 0.05, warmup: Math.min(100, Math.ceil(training.steps / 10)) });
  expect(stderr).toContain(`width ${model.width},`);
  const { stderr: again } = await place.done("train", "--resume", "run");
  expect(again).toMatch(new RegExp(`^run already has its ${training.steps} steps`, "m"));
});

it("refuses steps beside minutes, minutes for a run that goes on, and none at all", async () => {
  expectRefusal(
    await place.qkv("train", "a.txt", "--minutes", "5", "--steps", "10", "--out", "both"),
    2,
    "ConfigError: --minutes 5 finds out how many steps fit into that time, so --steps 10 cannot be given beside it; leave one of them out\n",
  );
  expectRefusal(
    await place.qkv("train", "--resume", "run", "--minutes", "5"),
    2,
    /^ConfigError: --minutes cannot be changed when a run goes on/,
  );
  expectRefusal(await place.qkv("train", "a.txt", "--minutes", "0", "--out", "none"), 2, /a number above 0 is wanted/);
});

it("a recipe keeps its model, and the minutes take the place of its steps", async () => {
  await place.done("train", "--recipe", "copy", "--minutes", "0.05", "--threads", "1", "--quiet", "--out", "copy");
  await place.done("train", "--recipe", "copy", "--steps", "1", "--threads", "1", "--quiet", "--out", "usual");
  expect(config("copy").model).toMatchObject({ layers: config("usual").model.layers, width: config("usual").model.width });
  expect(config("copy").training).toMatchObject({ minutes: 0.05, lr: config("usual").training.lr });
});

describe.skipIf(noLauncher !== undefined)("mpirun", () => {
  it("the trial of rank 0 decides for all", async () => {
    const sizes = "--layers 1 --width 16 --heads 2 --context 16 --dropout 0.1 --batch 4 --threads 1 --quiet".split(" ");
    const { code, stderr } = await startRanks(place, 2, ["train", "a.txt", ...sizes, "--minutes", "0.05", "--out", "ranks"]).ended;
    expect(code, stderr).toBe(0);
    const { steps, evalEvery, saveEvery } = config("ranks").training;
    const flags = ["--steps", `${steps}`, "--eval-every", `${evalEvery}`, "--save-every", `${saveEvery}`];
    await place.done("train", "a.txt", ...sizes, ...flags, "--batch", "2", "--accumulate", "2", "--out", "alone");
    const weights = (run: string) => readFileSync(place.path(run, "model.safetensors"));
    expect(weights("ranks").equals(weights("alone"))).toBe(true);
  });
});
