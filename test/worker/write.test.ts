import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { train } from "../../src/library/train.ts";
import type { GivenPrompt } from "../../src/protocol/messages.ts";
import type { Computer } from "../../src/worker/computer.ts";
import type { PageWriteOptions, Run, WrittenPiece } from "../../src/worker/run.ts";
import { filtered } from "../../studio/ask/writing/filters.ts";
import { rhyme } from "../journeys/samples.ts";
import { computerHere } from "../support/worker-here.ts";

// Writing token by token: what a page needs to show doubt, and to branch.

const folder = mkdtempSync(join(tmpdir(), "qkv-write-"));
let computer: Computer;
let model: Run;
let translator: Run;

beforeAll(async () => {
  const few = { steps: 30, batch: 4, threads: 1, warn: false as const, lr: 0.01 };
  writeFileSync(join(folder, "rhyme.txt"), rhyme);
  writeFileSync(
    join(folder, "pairs.tsv"),
    `source\ttarget\n${[..."abcdefghijkl"].map((letter) => `${letter} ${letter}\t${letter}`).join("\n")}\n`,
  );
  const sizes = { width: 16, heads: 2, layers: 1 };
  await (await train(join(folder, "rhyme.txt"), { out: join(folder, "rhyme"), model: { ...sizes, context: 32 }, ...few })).release();
  await (await train(join(folder, "pairs.tsv"), { out: join(folder, "pairs"), model: sizes, ...few, validFraction: 0 })).release();
  computer = await computerHere(folder);
  model = await computer.open({ run: "/runs/rhyme" });
  translator = await computer.open({ run: "/runs/pairs" });
}, 60_000);

afterAll(() => {
  computer.end();
  rmSync(folder, { recursive: true, force: true });
});

async function written(run: Run, prompt: GivenPrompt, options: PageWriteOptions & { readonly top?: number; readonly echo?: boolean }) {
  const pieces: WrittenPiece[] = [];
  for await (const piece of run.write(prompt, { warn: () => {}, ...options })) pieces.push(piece);
  return { pieces, text: pieces.map(({ text }) => text).join(""), tokens: pieces.flatMap(({ tokens }) => tokens) };
}

it("writes what whole samples are, each token with its probability and as many others as were asked for", async () => {
  const options = { tokens: 20, seed: 5, temperature: 0.9, top: 3 };
  const { text, tokens, pieces } = await written(model, "the cat", options);
  const [[sample]] = await model.samples(["the cat"], options);
  expect(text).toBe(sample.text);
  expect(tokens).toEqual(sample.told);
  expect(tokens.every(({ top }) => top.length === 3)).toBe(true);
  expect(pieces.at(-1)?.finish).toBe(sample.finish);
});

it("tells the prompt as the model reads it, and goes on from its ids and any part of a text as it did", async () => {
  const options = { tokens: 16, temperature: 0, top: 2 };
  const { pieces, tokens } = await written(model, "the cat", { ...options, echo: true });
  const prompt = pieces[0].prompt ?? [];
  expect(prompt[0].logProbability).toBeNull();
  expect(prompt.slice(1).every(({ logProbability }) => logProbability !== null && logProbability <= 0)).toBe(true);
  const ids = [...prompt, ...tokens.slice(0, 6)].map(({ id }) => id);
  const rest = await written(model, ids, { ...options, tokens: 10 });
  expect(rest.tokens.map(({ id }) => id)).toEqual(tokens.slice(6).map(({ id }) => id));
  for (const [i, { logProbability }] of rest.tokens.entries()) expect(logProbability).toBeCloseTo(tokens[6 + i].logProbability, 4);
});

it("what is redrawn of a place always has the token that was drawn there", async () => {
  const { vocab } = model.facts;
  for (const sampling of [{ topK: 3 }, { topP: 0.5, temperature: 1.5 }, { minP: 0.2, repetitionPenalty: 1.4, topP: 0.9 }]) {
    const { pieces, tokens } = await written(model, "the cat", { ...sampling, tokens: 24, top: vocab, echo: true });
    const ids = (pieces[0].prompt ?? []).map(({ id }) => id);
    for (const place of tokens) {
      const { choices, kept } = filtered(place, sampling, ids, vocab);
      expect(choices.find(({ id }) => id === place.id)?.after).toBeGreaterThan(0);
      if (sampling.topK) expect(kept).toBe(sampling.topK);
      ids.push(place.id);
    }
  }
});

it("tells how likely an end was, of what is drawn and of beams, whose tokens and ends make up their probability", async () => {
  const { pieces, tokens } = await written(translator, "a a", { tokens: 20, temperature: 0, top: 4 });
  const last = pieces.at(-1);
  expect(last?.finish).toBe("end");
  expect(last?.ended?.top[0].logProbability).toBe(last?.ended?.logProbability); // the likeliest there, at temperature 0
  const [found] = await translator.best(["a a"], { beams: 3, samples: 3, tokens: 20 });
  const [{ logProbability }] = await translator.translate(["a a"], { beams: 3 });
  const sums = found.map(({ told, ended }) => told.reduce((sum, one) => sum + one.logProbability, ended?.logProbability ?? 0));
  expect(sums[0]).toBeCloseTo(logProbability, 4);
  expect(sums).toEqual([...sums].sort((a, b) => b - a));
  const greedy = tokens.reduce((sum, one) => sum + one.logProbability, last?.ended?.logProbability ?? 0);
  expect(sums[0]).toBeGreaterThanOrEqual(greedy - 1e-4);
});
