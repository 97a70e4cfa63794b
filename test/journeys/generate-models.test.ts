import { spawn } from "node:child_process";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { open } from "../../src/library/trained.ts";
import { expectRefusal, tiny, Workplace } from "../support/command.ts";
import { moods, pairs, rhyme, words } from "./samples.ts";

// `qkv generate` with every kind of model, with runs that are damaged, and for somebody who stops reading.

const place = new Workplace();
const main = join(import.meta.dirname, "../../dist/cli/main.js");
const context = 16;
const end = 2; // the id of </s> in a char vocabulary
const small = "--width 16 --context 16 --batch 4 --steps 6 --threads 1".split(" ");

beforeAll(async () => {
  place.write("rhyme.txt", rhyme);
  place.write("pairs.tsv", pairs);
  place.write("moods.tsv", moods);
  place.write("words.tsv", words);
  await train("rhyme.txt", "rhyme", "--tokenizer", "char", ...tiny);
  await train("pairs.tsv", "pairs", "--tokenizer", "char", ...tiny);
  await train("moods.tsv", "classify", ...tiny);
  await train("words.tsv", "tag", ...tiny);
});

const train = (data: string, run: string, ...flags: readonly string[]) => place.done("train", data, "--quiet", "--out", run, ...flags);

async function written(...args: readonly string[]) {
  const { prompt, samples } = JSON.parse((await place.done("generate", ...args, "--json")).stdout);
  return { prompt, samples, first: samples[0] };
}

describe("goes on past the context", () => {
  it.each(["learned", "sinusoidal", "rotary", "alibi", "relative", "none"])("a decoder with %s positions", async (positions) => {
    await train("rhyme.txt", positions, "--tokenizer", "char", "--positions", positions, ...tiny);
    const { first } = await written(positions, "the", "--tokens", `${3 * context}`, "--bias", `${end}=-Infinity`);
    expect(first).toMatchObject({ tokens: 3 * context, finish: "length" });
  });

  it.each([
    [
      "Gemma",
      "--kv-heads 1 --qk-norm --window 5 --window-every 2 --rope-local-base 100 --norm-place both --activation geglu-tanh --scores-cap 20",
    ],
    ["GPT-NeoX", "--rope-share 0.5 --rope-scaling llama3 --rope-original 8 --parallel own-norm --bias qkv --scores-bias --no-norm-bias"],
    ["newer recipes", "--value-residual --zero-init --activation relu2 --qk-norm --softcap 15 --no-tie --kv-heads 1"],
  ])("a decoder with the options of %s", async (name, options) => {
    const sizes = "--layers 2 --heads 2 --width 16 --context 16 --batch 4 --steps 6 --threads 1";
    await train("rhyme.txt", name, "--tokenizer", "char", ...sizes.split(" "), ...options.split(" "));
    const { first } = await written(name, "the", "--tokens", `${3 * context}`, "--bias", `${end}=-Infinity`);
    expect(first).toMatchObject({ tokens: 3 * context, finish: "length" });
  });

  it.each(["rnn", "gru", "lstm"])("an RNN of the cell %s, which takes any prompt", async (cell) => {
    await train("rhyme.txt", cell, "--tokenizer", "char", "--model", "rnn", "--cell", cell, ...small);
    const args = [cell, "the cat sat on the mat, line", "--tokens", `${3 * context}`, "--bias", `${end}=-Infinity`, "--strict"];
    expect((await written(...args)).first).toMatchObject({ tokens: 3 * context, finish: "length" });
  });
});

describe("answers a source", () => {
  it("with an encoder–decoder", async () => {
    const { prompt, first } = await written("pairs", "number 7", "--bias", `${end}=1000`, "--log-probabilities");
    expect(prompt).toBe("number 7");
    expect(first).toEqual({ text: "", tokens: 0, logProbability: expect.any(Number), finish: "end", logProbabilities: [] });
    expect(first.logProbability).toBeLessThan(0); // that of </s>
  });

  it("with an RNN", async () => {
    await train("pairs.tsv", "rnn-pairs", "--model", "rnn", ...small);
    const { first } = await written("rnn-pairs", "number 7", "--tokens", "5", "--log-probabilities");
    const sum = first.logProbabilities.reduce((total: number, token: { logProbability: number }) => total + token.logProbability, 0);
    expect(first.tokens).toBe(first.logProbabilities.length);
    if (first.finish === "end") expect(sum).toBeGreaterThan(first.logProbability);
    else expect(sum).toBeCloseTo(first.logProbability, 9);
  });

  it("and prints the answer alone", async () => {
    const { first } = await written("pairs", "number 7", "--temperature", "0");
    expect((await place.done("generate", "pairs", "number 7", "--temperature", "0")).stdout).toBe(`${first.text}\n`);
  });

  it("which must be there", async () => {
    expectRefusal(await place.qkv("generate", "pairs"), 1, "DataError: there is nothing to translate in an empty text\n");
  });
});

describe("refuses", () => {
  it.each(["classify", "tag"])("an encoder, and names the command for it: qkv %s", async (command) => {
    const result = await place.qkv("generate", command, "the");
    expectRefusal(result, 2, `ConfigError: an encoder reads and does not write; use it with qkv ${command}\n`);
  });

  it("a folder that is no run, and a run without weights", async () => {
    expectRefusal(
      await place.qkv("generate", "nowhere"),
      1,
      /^RunError: nowhere is not a run folder: there is no config\.json; train one with/,
    );
    cpSync(place.path("rhyme"), place.path("bare"), { recursive: true });
    rmSync(place.path("bare/model.safetensors"));
    expectRefusal(await place.qkv("generate", "bare"), 1, /^RunError: bare has no model\.safetensors; .* qkv train --resume bare\n$/);
  });
});

describe("weights that are NaN are said so", () => {
  /** A copy of a run whose numbers are all NaN. */
  function damaged(run: string): string {
    cpSync(place.path(run), place.path(`nan-${run}`), { recursive: true });
    const bytes = readFileSync(place.path(run, "model.safetensors"));
    const header = 8 + Number(bytes.readBigUInt64LE(0));
    for (let at = header; at < bytes.length; at += 4) bytes.writeFloatLE(Number.NaN, at);
    place.write(`nan-${run}/model.safetensors`, bytes);
    return `nan-${run}`;
  }

  it.each([
    ["drawn", "generate", "rhyme", []],
    ["searched", "generate", "rhyme", ["--beams", "2", "--tokens", "5"]],
    ["rounded", "generate", "rhyme", ["--weights", "q8"]],
    ["answered", "generate", "pairs", ["--json"]],
    ["measured", "eval", "rhyme", []],
    ["classified", "eval", "classify", ["--json"]],
    ["looked at", "look", "rhyme", ["--json"]],
    ["and counted", "look", "rhyme", ["--view", "statistics"]],
  ])("%s: qkv %s", async (_, command, run, flags) => {
    const args = command === "eval" ? flags : ["the", ...flags];
    expectRefusal(
      await place.qkv(command, damaged(run), ...args),
      1,
      /^NonFiniteError: .*(damaged, or training went wrong|train it again)\n$/m,
    );
  });
});

it("half of a character in a prompt is an unknown one", async () => {
  const run = open(place.path("rhyme"), { threads: 1 });
  const [[half], [unknown]] = await run.samples(["the \ud83d", "the \ufffd"], { tokens: 9 });
  expect(half).toEqual(unknown);
  await run.release();
});

it("stops, and says nothing, when nobody reads any more", async () => {
  const args = ["generate", "rhyme", "the", "--tokens", "1000000000", "--bias", `${end}=-Infinity`];
  const endless = spawn(process.execPath, [main, ...args], { cwd: place.folder });
  let stderr = "";
  endless.stderr.on("data", (bytes) => {
    stderr += bytes;
  });
  endless.stdout.once("data", () => endless.stdout.destroy());
  const code = await new Promise((resolve) => endless.on("exit", resolve));
  expect([code, stderr]).toEqual([0, ""]);
});
