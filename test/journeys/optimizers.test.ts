import { cpSync, readFileSync, rmSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { readSafetensors } from "../../src/weights/safetensors.ts";
import { contents, tiny, Workplace } from "../support/command.ts";
import { rhyme } from "./samples.ts";

// Muon, a rate that stays and falls, and a mean of the weights: a run goes on to the same bits, and ships the mean.

const place = new Workplace();
const flags = [
  ...tiny,
  ..."--steps 12 --eval-every 3 --save-every 3 --optimizer muon --schedule wsd --dropout 0.1 --accumulate 2".split(" "),
];

beforeAll(async () => {
  place.write("a.txt", rhyme);
  await place.done("train", "a.txt", ...flags, "--out", "plain");
  await place.done("train", "a.txt", ...flags, "--average", "4", "--out", "run");
});

const tensors = (...parts: string[]) => {
  const file = place.path(...parts);
  return readSafetensors(readFileSync(file), file).tensors;
};

it("goes on exactly from a checkpoint", async () => {
  for (const run of ["plain", "run"]) {
    cpSync(place.path(run), place.path("again"), { recursive: true });
    rmSync(place.path("again", "checkpoints", "12"), { recursive: true });
    await place.done("train", "--resume", "again", "--quiet");
    const [again, before] = [contents(place.path("again")), contents(place.path(run))];
    for (const name of Object.keys(before).filter((one) => one.endsWith(".safetensors"))) expect(again[name], name).toEqual(before[name]);
    rmSync(place.path("again"), { recursive: true });
  }
});

it("trains the same weights with a mean beside them, and ships the mean", () => {
  const file = ["checkpoints", "12", "weights.safetensors"];
  for (const [name, { data }] of tensors("plain", ...file)) expect(tensors("run", ...file).get(name)?.data).toEqual(data);
  const { training } = JSON.parse(readFileSync(place.path("run", "config.json"), "utf8"));
  expect([training.average, training.momentum, training.decay]).toEqual([4, 0.95, 0.2]);
  const step = /"step":"(\d+)"/.exec(readFileSync(place.path("run", "model.safetensors"), "latin1"))?.[1] as string;
  const means = tensors("run", "checkpoints", step, "optimizer.safetensors");
  for (const [name, { data }] of tensors("run", "model.safetensors")) expect(data).toEqual(means.get(`averaged/${name}`)?.data);
});
