import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { readSafetensors } from "../../src/weights/safetensors.ts";
import { contents, expectRefusal, outcome, Workplace } from "../support/command.ts";
import { moods, pairs, rhyme } from "./samples.ts";

// An adapter is trained beside a run, goes on after a kill, is used, swapped, and put into its base.

const place = new Workplace();
const small = "--layers 2 --heads 2 --width 16 --context 16 --batch 4 --steps 8 --threads 1".split(" ");
const other = (text: string) =>
  text.replaceAll("today", "tonight").replaceAll("number", "figure").replaceAll("mat", "hat").replaceAll("barks", "runs");
const json = (text: string) => JSON.parse(text);
const done = async (...args: string[]) => (await place.done(...args)).stdout;

const kinds: Record<string, readonly [file: string, text: string, ...flags: string[]]> = {
  decoder: ["a.txt", rhyme],
  classifier: ["a.tsv", moods],
  translator: ["pairs.tsv", pairs, "--tokenizer", "char"],
  rnn: ["a.txt", rhyme, "--model", "rnn"],
};

beforeAll(async () => {
  for (const [name, [file, text, ...flags]] of Object.entries(kinds)) {
    place.write(file, text);
    place.write(`new/${file}`, other(text));
    const sizes = name === "rnn" ? small.slice(4) : small;
    await place.done("train", file, ...sizes, ...flags, "--quiet", "--out", name);
  }
});

describe.each(Object.entries(kinds))("%s", (base, [file]) => {
  const run = `${base}-lora`;
  const flags = [`new/${file}`, "--from", base, "--lora", "3", "--lora-targets", "all", "--lora-dropout", "0.1", "--lr", "0.01"];
  const often = ["--threads", "1", "--quiet", "--save-every", "2", "--eval-every", "3", "--keep", "9", "--steps", "6"];

  it("learns, leaves its base alone, and goes on to the same end when it is stopped", async () => {
    const before = contents(place.path(base));
    await place.done("train", ...flags, ...often, "--out", run);
    expect(contents(place.path(base))).toEqual(before);
    expect(existsSync(place.path(`${run}/model.safetensors`))).toBe(false);
    const trained = Object.keys(outcome(place.path(run)).files);
    expect(trained).toContain("adapter/adapter_model.safetensors");
    cpSync(place.path(run), place.path(`${run}-killed`), { recursive: true });
    for (const step of ["3", "4", "6"]) rmSync(place.path(`${run}-killed/checkpoints/${step}`), { recursive: true, force: true });
    await place.done("train", "--resume", `${run}-killed`, "--quiet");
    expect(outcome(place.path(`${run}-killed`))).toEqual(outcome(place.path(run)));
  });

  it.runIf(["decoder", "classifier"].includes(base))("measures the same by itself, beside its base, and put into it", async () => {
    const measured = async (...args: string[]) => {
      const { seconds: _, ...rest } = json(await done("eval", ...args, `new/${file}`, "--json", "--threads", "1"));
      return rest;
    };
    await place.done("merge", run, "--out", `${base}-whole`);
    const own = await measured(run);
    expect(await measured(`${base}-whole`)).toEqual(own);
    expect(await measured(base, "--adapter", run)).toEqual(own);
    expect(await measured(base, "--adapter", `${run}/adapter`)).toEqual(own);
    expect(await measured(base)).not.toEqual(own);
  });
});

it("info tells what is trained and what is frozen", async () => {
  const facts = json(await done("info", "decoder-lora", "--json"));
  expect(facts.training.lora).toEqual({ rank: 3, alpha: 6, dropout: 0.1, targets: ["q", "k", "v", "out", "gate", "expand", "contract"] });
  expect(facts.frozen).toBe(json(await done("info", "decoder", "--json")).parameters);
  expect(await done("info", "decoder-lora")).toContain("lora (rank 3, alpha 6, dropout 0.1, targets q,k,v,out,gate,expand,contract)");
});

it("adapters swap when text is written, and a look is into the model with the adapter in it", async () => {
  const text = (...args: string[]) => done("generate", ...args, "the", "--tokens", "12", "--temperature", "0", "--threads", "1");
  expect(await text("decoder", "--adapter", "decoder-lora")).toBe(await text("decoder-lora"));
  expect(await text("decoder-whole")).toBe(await text("decoder-lora"));
  const look = (...args: string[]) => done("look", ...args, "the cat", "--json", "--threads", "1");
  expect(await look("decoder", "--adapter", "decoder-lora")).toBe(await look("decoder-whole"));
  expect(await look("decoder", "--adapter", "decoder-lora")).not.toBe(await look("decoder"));
});

it("the adapter's file has PEFT's names over our own places, where the base is of no family", () => {
  const { tensors, metadata } = readSafetensors(readFileSync(place.path("decoder-lora/adapter/adapter_model.safetensors")), "");
  expect([...tensors.keys()].slice(0, 4)).toEqual([
    "base_model.model.decoder.block.0.attention.qkv.q.lora_A.weight",
    "base_model.model.decoder.block.0.attention.qkv.q.lora_B.weight",
    "base_model.model.decoder.block.0.attention.qkv.k.lora_A.weight",
    "base_model.model.decoder.block.0.attention.qkv.k.lora_B.weight",
  ]);
  expect(metadata.get("format")).toBe("pt");
});

it("a base that is gone or has changed is named, with the cure; put back, all is as it was", async () => {
  renameSync(place.path("decoder"), place.path("away"));
  for (const args of [
    ["train", "--resume", "decoder-lora", "--steps", "9"],
    ["eval", "decoder-lora"],
    ["merge", "decoder-lora", "--out", "x"],
  ])
    expectRefusal(
      await place.start(...args).ended,
      1,
      /decoder-lora is an adapter of .*decoder, which is not there any more; put it back, or write where it is now into config\.json \(from\.run\)/,
    );
  cpSync(place.path("away"), place.path("decoder"), { recursive: true });
  const file = place.path("decoder/model.safetensors");
  const bytes = readFileSync(file);
  bytes[bytes.length - 3] ^= 1;
  writeFileSync(file, bytes);
  expectRefusal(
    await place.start("eval", "decoder-lora").ended,
    1,
    /is an adapter of the weights that .*decoder had, and they have changed since \(their SHA-256 was [0-9a-f]{12}…\)/,
  );
  expectRefusal(
    await place.start("eval", "decoder", "--adapter", "decoder-lora").ended,
    1,
    /and decoder has other weights; open the one that it belongs to/,
  );
  rmSync(place.path("decoder"), { recursive: true });
  renameSync(place.path("away"), place.path("decoder"));
  await place.done("eval", "decoder-lora", "--json");
});

it.each<[code: 1 | 2, what: string, string[], RegExp]>([
  [2, "no base", ["train", "new/a.txt", "--lora", "4"], /--lora trains an adapter beside weights that are there; say whose, with --from/],
  [
    2,
    "an unknown target",
    ["train", "new/a.txt", "--from", "decoder", "--lora", "4", "--lora-targets", "up"],
    /no matrix is called "up".*all, or some of q, k, v, out, gate, expand, contract/,
  ],
  [
    2,
    "alpha alone",
    ["train", "new/a.txt", "--from", "decoder", "--lora-alpha", "4"],
    /--lora-alpha is for an adapter; give its rank too, with --lora <rank>/,
  ],
  [
    2,
    "an adapter beside an adapter",
    ["train", "new/a.txt", "--from", "decoder-lora", "--lora", "4"],
    /decoder-lora is an adapter itself; put it into its base first: qkv merge decoder-lora --out <folder>/,
  ],
  [
    2,
    "frozen parts too",
    ["train", "new/a.txt", "--from", "decoder", "--lora", "4", "--freeze", "decoder/tokens"],
    /--freeze has no meaning beside it/,
  ],
  [
    2,
    "merging what is whole",
    ["merge", "decoder", "--out", "x"],
    /decoder is no adapter, so there is nothing to put into it; give one with --adapter/,
  ],
  [
    1,
    "merging over a run",
    ["merge", "decoder-lora", "--out", "classifier"],
    /classifier is there already; choose another --out, or replace it with --overwrite/,
  ],
  [
    1,
    "an adapter of another model",
    ["eval", "classifier", "--adapter", "decoder-lora/adapter"],
    /the adapter does not fit this model; tensors that are no adapter of this model: "base_model\.model\.decoder\.block/,
  ],
  [1, "no adapter", ["eval", "decoder", "--adapter", "new"], /new is no adapter: there is neither an adapter_config\.json nor a run/],
  [
    2,
    "a run without one",
    ["eval", "decoder", "--adapter", "classifier"],
    /classifier was trained without --lora, so it has no adapter; open it by itself/,
  ],
])("exit code %i refuses %s", async (code, _, args, words) => {
  expectRefusal(await place.start(...args).ended, code, words);
  expect(existsSync(place.path("x"))).toBe(false);
});
