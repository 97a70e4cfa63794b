import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { DataError } from "../../src/base/errors.ts";
import { beamSearch } from "../../src/generation/beam.ts";
import { KeptRows } from "../../src/generation/kept-rows.ts";
import { memoryOf, pieceLength } from "../../src/generation/memory.ts";
import { type Request, RunningBatch, type Said } from "../../src/generation/running-batch.ts";
import { sampling } from "../../src/generation/sampling.ts";
import { speakerOf } from "../../src/generation/speaker.ts";
import type { Speaker } from "../../src/generation/speech.ts";
import { type ModelConfig, type ModelInput, modelConfig, readsSource } from "../../src/models/any.ts";
import { decoderConfig } from "../../src/models/config.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import type { Device } from "../../src/runtime/device.ts";
import type { Engine } from "../../src/runtime/session.ts";
import { type Combination, pairwise, product } from "../support/combinations.ts";
import { altered } from "./stand-ins.ts";
import { clearWeights, expectSame, randomIds } from "./whole-model.ts";

// A prompt that takes too much memory to be read at once is read in pieces, and nothing else changes; what cannot be cut is refused.

const choices = {
  positions: ["learned", "sinusoidal", "rotary", "relative", "alibi", "none"],
  score: ["scaled", "dot", "bilinear", "additive"],
  attention: ["softmax", "linear", "free"],
  multiHead: ["split", "narrow", "wide"],
  norm: ["layer", "rms", "none"],
};
/** Of these the first two keep what was read, and the others read everything again: of many rows, a few at once. */
const masks: Combination[] = [
  { mask: "before-softmax" },
  { mask: "after-softmax", attention: "linear" },
  { mask: "after-softmax" },
  { mask: "none" },
];
const possible = ({ attention, score, multiHead }: Combination): boolean =>
  attention !== "free" || (score !== "bilinear" && score !== "additive" && multiHead !== "wide");
const crossing = (one: Combination): boolean => possible(one) && one.attention !== "free";
const combinations = (allowed: (one: Combination) => boolean): Combination[] =>
  process.env.QKV_LAWS === "full" ? product(choices).filter(allowed) : pairwise(choices, allowed);
const shown = (one: Combination): string =>
  Object.values(one)
    .map((value) => (typeof value === "object" ? shown(value as Combination) : value))
    .join(" ");
const named = (all: readonly Combination[]) => all.map((one) => [shown(one), one] as const);

/** One thread, and so many bytes; 4 GiB if left out. */
const on = (memory = 4 * 2 ** 30): Device => ({ engine: nodeEngine, threads: 1, memory: () => memory });

const small = { layers: 2, heads: 2, width: 8, hidden: 12, context: 50, vocab: 9 };
const lengths = [1, 20, 35, 48];
const sources = [30, 4, 17, 1].map((length, i) => Int32Array.from(randomIds(length, small.vocab, 60 + i)));

/** What is heard of prompts of many lengths, some of which join later, and of two tokens more. */
async function heard(model: ModelConfig, memory?: number): Promise<{ scores: Float32Array; total: number }[]> {
  const speaker = speakerOf(model, { weights: clearWeights(model), device: on(memory) });
  const speech = speaker.begin();
  const prompts = lengths.map((length, i) => ({
    ids: randomIds(length, small.vocab, i),
    ...(readsSource(model) && { source: sources[i] }),
  }));
  const found = [...(await speech.join(prompts.slice(0, 3))), ...(await speech.join(prompts.slice(3)))];
  expect(speech.lengths).toEqual(lengths);
  for (const token of [3, 5]) found.push(...(await speech.next(lengths.map((_, i) => token + (i % 2)))));
  await speaker.release();
  return found;
}

async function law(given: ModelInput): Promise<void> {
  const model = modelConfig(given);
  const wanted = await heard(model);
  for (const memory of [1, 200_000]) {
    const found = await heard(model, memory);
    for (const [i, { scores, total }] of wanted.entries()) {
      expectSame(found[i].scores, scores, `${memory} bytes, ${i}`);
      expectSame([found[i].total], [total], `${memory} bytes, log Σ exp of ${i}`);
    }
  }
}

describe("in pieces is at once", () => {
  it.each(named(combinations(possible)))("decoder: %s", (_, one) => law({ model: "decoder", ...small, ...one }));
  it.each(named(combinations(crossing)))("encoder–decoder: %s", (_, one) => law({ model: "encoder-decoder", ...small, ...one }));
  it.each(named(product({ model: ["decoder", "encoder-decoder"], mask: masks })))("with any mask: %s", (_, { model, mask }) =>
    law({ model: model as "decoder", ...small, ...(mask as Combination) }),
  );
});

/** Runs as usual, and tells the shapes of what is fed. */
function recorded(): { readonly engine: Engine; readonly fed: Record<string, readonly number[]>[] } {
  const fed: Record<string, readonly number[]>[] = [];
  const engine: Engine = {
    ...nodeEngine,
    createSession: async (model, options) => {
      const session = await nodeEngine.createSession(model, options);
      return {
        run: (feeds, outputs, into) => {
          fed.push(Object.fromEntries(Object.entries(feeds).map(([name, { shape }]) => [name, shape])));
          return session.run(feeds, outputs, into);
        },
        endProfiling: () => session.endProfiling(),
        release: () => session.release(),
      };
    },
  };
  return { engine, fed };
}

describe("a piece", () => {
  it("has as many tokens as there is memory for their scores", async () => {
    const model = decoderConfig({ ...small, context: 600 });
    const memory = 500_000;
    const { pair } = memoryOf(model, on());
    for (const rows of [1, 3]) {
      const { engine, fed } = recorded();
      const speaker = speakerOf(model, { weights: clearWeights(model), device: { ...on(memory), engine } });
      await speaker.begin().join(Array.from({ length: rows }, (_, i) => ({ ids: randomIds(600 - 100 * i, small.vocab, i) })));
      const pieces = fed.filter(({ ids }) => ids).map(({ ids: [, time], "keys.0": [, , past] }) => ({ time, past }));
      expect(pieces.reduce((sum, { time }) => sum + time, 0)).toBe(600);
      expect(pieces[0].past).toBe(1);
      expect(pieces.length).toBeGreaterThan(2);
      for (const { time, past } of pieces) expect(rows * pair * time * (past + time)).toBeLessThanOrEqual(memory);
      for (const { time, past } of pieces.slice(0, -1)) expect(rows * pair * (time + 1) * (past + time + 1)).toBeGreaterThan(memory);
      await speaker.release();
    }
  });

  it("is all of a prompt up to a few thousand tokens", () => {
    const longest = (heads: number) => pieceLength(memoryOf(decoderConfig({ ...small, heads, width: 64 * heads }), on()), 1, 1);
    expect([1, 4, 8, 12, 16, 32].map(longest)).toEqual([8191, 5180, 3861, 3212, 2809, 2016]);
  });

  it("is one token at least, and all of them stay small where a context is long", () => {
    const gpt = memoryOf(decoderConfig({ ...small, heads: 12, width: 768 }), on());
    expect(pieceLength(gpt, 1, 100_000)).toBe(103);
    expect(pieceLength(gpt, 1, 1_000_000)).toBe(10);
    expect(pieceLength(gpt, 1000, 1_000_000)).toBe(1);
  });
});

/** Nothing is computed: what is refused is refused before. */
const nothing: Engine = {
  ...nodeEngine,
  createSession: () => {
    throw new Error("a session was made");
  },
};

describe("what cannot be read in pieces, or not be kept, is refused with the arithmetic", () => {
  const sizes = { layers: 2, width: 96, heads: 12, context: 100_000, vocab: 1000, positions: "rotary" } as const;
  const long = new Array(20_000).fill(3);
  const source = Int32Array.from(long);
  const cases: [name: string, given: ModelInput, prompt: Partial<Request>, sentence: string][] = [
    [
      "a source",
      { model: "encoder-decoder", ...sizes },
      { ids: [1], source },
      "a source of 20,000 tokens cannot be read in pieces, and at once it takes 20,000² pairs of tokens × 208 bytes (scores of attention) = 77.5 GiB, and 4 GiB may be taken; shorten it",
    ],
    [
      "a text that sees its future",
      { model: "decoder", ...sizes, mask: "none" },
      { ids: long },
      "without a causal mask, a text of 20,007 tokens cannot be read in pieces, and at once it takes 20,007² pairs of tokens × 208 bytes (scores of attention) + 20,007 × 8,000 bytes (scores of the vocabulary) = 77.7 GiB, and 4 GiB may be taken",
    ],
    [
      "one that is to become too long",
      { model: "decoder", ...sizes, mask: "none" },
      { ids: [1], tokens: 30_000 },
      "without a causal mask, a text of 30,001 tokens cannot be read in pieces",
    ],
    [
      "a source of an RNN",
      { model: "rnn", width: 64, vocab: 1000, context: 100_000 },
      { ids: [1], source },
      "a source of 20,000 tokens is unrolled, which takes 24,576 steps × 264,192 bytes = 6.05 GiB, and 4 GiB may be taken",
    ],
    [
      "keys and values of a prompt",
      { model: "decoder", ...sizes, layers: 48, width: 1536 },
      { ids: long },
      "what is kept of a prompt of 20,000 tokens takes 20,000 × 589,824 bytes (keys and values) = 11 GiB, and 4 GiB may be taken",
    ],
  ];
  const requestOf = (more: Partial<Request>): Request => ({ ids: [1], tokens: 7, sampling: sampling(), chance: chance(1), ...more });
  const weights = () => {
    throw new Error("weights were read");
  };

  it.each(cases)("%s", async (_, given, prompt, sentence) => {
    const speaker = speakerOf(modelConfig(given), { device: { engine: nothing }, weights });
    const batch = new RunningBatch(speaker);
    batch.add(requestOf(prompt));
    const [{ error }] = await batch.step();
    expect(error).toBeInstanceOf(DataError);
    expect(error?.message).toContain(sentence);
    await expect(beamSearch(speaker, [requestOf(prompt)], { beams: 2, tokens: prompt.tokens ?? 7 })).rejects.toThrow(sentence);
    const roomy = speakerOf(modelConfig(given), { device: { engine: nothing, memory: () => 1e12 }, weights });
    expect(() => roomy.check?.(requestOf(prompt), prompt.tokens ?? 7)).not.toThrow();
  });
});

describe("rows that cannot be kept together", () => {
  const sizes = { vocab: 12, width: 32, layers: 1, context: 30 };
  const models: Record<string, ModelInput> = {
    "a decoder": { model: "decoder", heads: 2, ...sizes },
    "an encoder–decoder": { model: "encoder-decoder", heads: 2, ...sizes },
  };

  async function answers(speaker: Speaker, requests: readonly Request[]): Promise<Said[][]> {
    const batch = new RunningBatch(speaker);
    for (const request of requests) batch.add(request);
    const told = requests.map((): Said[] => []);
    while (batch.size > 0) for (const said of await batch.step()) told[requests.indexOf(said.request)].push(said);
    return told;
  }

  it.each(Object.entries(models))("wait for each other, and are told the same: %s", async (_, given) => {
    const model = modelConfig(given);
    const weights = clearWeights(model);
    const reads = readsSource(model);
    const requests = [3, 9, 1, 7, 2, 8].map((length, i): Request => {
      const ids = randomIds(length, sizes.vocab, i);
      return {
        ids: reads ? [1] : ids,
        ...(reads && { source: Int32Array.from(ids) }),
        tokens: 4 + i,
        sampling: sampling(),
        chance: chance(i),
      };
    });
    const free = speakerOf(model, { weights, device: on() });
    const wanted = await answers(free, requests);
    await free.release();
    const tight = speakerOf(model, { weights, device: on(12_000) }); // 256 bytes for each token of a row: two or three rows
    let most = 0;
    const watched = altered(tight, (speech) => ({
      next: (tokens) => {
        most = Math.max(most, tokens.length);
        return speech.next(tokens);
      },
    }));
    const found = await answers(watched, requests);
    await tight.release();
    const tokens = (said: readonly Said[]) => said.map(({ token, finish }) => ({ token, finish }));
    expect(found.map(tokens)).toEqual(wanted.map(tokens));
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThan(4);
  });
});

describe("keys and values that are kept", () => {
  const kept = [{ input: "keys", size: 2 }];
  const places = (rows: number, time: number, value: (row: number, place: number) => number) =>
    array(
      "float32",
      Float32Array.from({ length: rows * time * 2 }, (_, i) => value(Math.floor(i / (2 * time)), Math.floor(i / 2) % time)),
      [rows, 1, time, 2],
    );

  it("have room for a quarter more than there is, never for more than a row may have, and stay what they are", () => {
    const rows = new KeptRows(kept, 1, 1000);
    rows.join({ keys: places(2, 30, (row, place) => 1000 * row + place) }, [30, 10]);
    for (let at = 30; at < 1000; at += 97) {
      const time = Math.min(97, 1000 - at);
      const last = rows.lengths[0];
      rows.append({ keys: places(2, time, (row, place) => 1000 * row + last + place - 20 * row) }, [time, time]);
      expect(rows.places).toBeGreaterThanOrEqual(rows.lengths[0]);
      expect(rows.places).toBeLessThanOrEqual(Math.min(1024, 1.25 * rows.lengths[0] + 64));
    }
    expect(rows.lengths).toEqual([1000, 980]);
    expect(rows.places).toBe(1024);
    const { data } = rows.views().keys;
    for (const row of [0, 1])
      for (let place = 0; place < rows.lengths[row]; place++) expect(data[(row * 1024 + place) * 2]).toBe(1000 * row + place);
    rows.keep([1]);
    expect([rows.lengths, rows.places]).toEqual([[980], 1024]);
  });
});
