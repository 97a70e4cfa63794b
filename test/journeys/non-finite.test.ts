import { existsSync, readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { contents, expectRefusal, tiny, Workplace } from "../support/command.ts";
import { rhyme } from "./samples.ts";

// NaN or infinity stops training before the weights are touched; it is named, it is in the log, and the last checkpoint stays.

const place = new Workplace();
const explosive = "--optimizer sgd --lr 1e6 --clip 0 --warmup 0".split(" ");

beforeAll(() => {
  place.write("a.txt", rhyme);
});

const logged = (run: string) =>
  readFileSync(place.path(run, "log.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

it("names the step and the tensor, logs it, and keeps the checkpoint before it", async () => {
  const result = await place.qkv("train", "a.txt", ...tiny, ...explosive, "--eval-every", "6", "--save-every", "2", "--out", "run");
  expectRefusal(
    result,
    1,
    /^NonFiniteError: at step 3: the loss is NaN; it first appeared at decoder\/block\.0\/attention in attend .*the checkpoint of step 2 is whole, but would come to the same: train a new run with a smaller --lr, or with --clip$/m,
  );
  expect(logged("run").at(-1)).toEqual({ step: 3, error: expect.stringContaining("at step 3: the loss is NaN") });
  expect(existsSync(place.path("run/checkpoints/2/manifest.json"))).toBe(true);
  expect(existsSync(place.path("run/lock"))).toBe(false);
});

it("says the same again when it is resumed, with the checkpoint still the same", async () => {
  const before = contents(place.path("run"));
  expectRefusal(await place.qkv("train", "--resume", "run"), 1, /^NonFiniteError: at step 3: the loss is NaN/m);
  expect(contents(place.path("run"))).toEqual(before);
});

it("does not hide a validation loss that is NaN, nor take it for a success", async () => {
  const result = await place.qkv(
    "train",
    "a.txt",
    ...tiny,
    ...explosive,
    "--schedule",
    "constant",
    "--steps",
    "2",
    "--eval-every",
    "2",
    "--json",
    "--out",
    "validation",
  );
  expectRefusal(result, 1, /^NonFiniteError: .*step 2.*validation/m);
  expect(JSON.stringify(logged("validation").at(-1))).toMatch(/NaN/);
});

it("promises no checkpoint where there is none yet", async () => {
  const result = await place.qkv("train", "a.txt", ...tiny, ...explosive, "--eval-every", "6", "--save-every", "6", "--out", "early");
  expectRefusal(result, 1, /^NonFiniteError: at step 3/m);
  expect(result.stderr).toMatch(/there is no checkpoint yet/);
});
