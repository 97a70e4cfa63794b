import { existsSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { expectRefusal, Workplace } from "../support/command.ts";
import { rhyme } from "./samples.ts";

// A model that cannot fit is refused with the arithmetic, at once, in figures that a person can read.

const place = new Workplace();

beforeAll(() => {
  place.write("a.txt", rhyme);
});

it.each<[string, string[], RegExp]>([
  [
    "a model of 175 billion parameters",
    ["--preset", "gpt3-175b"],
    /17\d,\d{3},\d{3},\d{3} parameters × 4 bytes × 4 \(weights, gradients, optimizer state\) = 2,\d{3} GiB/,
  ],
  ["a very wide model", ["--width", "100000"], /parameters × 4 bytes × 4 .*; choose fewer --layers, or a smaller --width/],
  ["a very deep model", ["--layers", "1000", "--width", "4096"], /parameters × 4 bytes × 4 .*; choose fewer --layers/],
  ["a long context", ["--context", "1000000", "--batch", "1"], /GiB for the activations of a batch of 1, but .* GiB are free; .*--context/],
  ["a big batch", ["--batch", "100000"], /GiB for the activations of a batch of 100,?000, but .* GiB are free; .*--batch/],
])("refuses %s", { timeout: 240_000 }, async (_, flags, arithmetic) => {
  const running = place.start("train", "a.txt", ...flags, "--out", "run");
  const patience = setTimeout(() => running.signal("SIGKILL"), 200_000);
  const result = await running.ended;
  clearTimeout(patience);
  expectRefusal(result, 1, arithmetic);
  expect(result.stderr).not.toMatch(/\de\+\d/);
  expect(existsSync(place.path("run"))).toBe(false);
});
