import { describe, expect, it } from "vitest";
import { Prefixes } from "../../src/generation/prefixes.ts";
import type { Arrival, Next, Prompt, Speaker } from "../../src/generation/speech.ts";
import { maskPlaces } from "../../src/layers/attention.ts";
import { normPlaces } from "../../src/layers/block.ts";
import { positionJoins } from "../../src/layers/positions.ts";
import { cells } from "../../src/layers/recurrent.ts";
import { scoreKinds } from "../../src/layers/scores.ts";
import { speakerOf } from "../../src/library/here.ts";
import { type ModelConfig, type ModelInput, modelConfig, readsSource } from "../../src/models/any.ts";
import { keepsPast } from "../../src/models/continuation.ts";
import {
  type Combination,
  crossing,
  insideAttention,
  pairwise,
  possible,
  product,
  publishedModels,
  scoring,
  sides,
} from "../support/combinations.ts";
import { clearWeights, expectSame, randomIds } from "./whole-model.ts";

// What is read in pieces, of whatever size, and what begins with what was read of others, is what is read whole and by itself. Every pair
// of choices occurs here; QKV_LAWS=full runs the product of all that happens inside attention.

const choices = { ...insideAttention, mask: maskPlaces };
const rest = {
  normPlace: normPlaces,
  joinPositions: positionJoins,
  keySize: [undefined, 6],
  valueSize: [undefined, 3],
  tie: [true, false],
  residual: [true, false],
  feedforward: [true, false],
};
const full = process.env.QKV_LAWS === "full";
const keeps = (one: Combination): boolean => keepsPast(one as never);
const combinations = (extra: Record<string, readonly unknown[]>, allowed: (one: Combination) => boolean): Combination[] => {
  const both = (one: Combination) => keeps(one) && allowed(one);
  return full ? product(choices).filter(both) : pairwise({ ...choices, ...rest, ...extra }, both);
};

const small = { layers: 2, heads: 2, width: 8, hidden: 12, context: 48, vocab: 9 };
const sources = [4, 1, 10, 6].map((length, i) => Int32Array.from(randomIds(length, 7, 20 + i)));

/** Five prompts, of which the later ones begin as the first two do, for longer and shorter, or are the same. */
function promptsOf(model: ModelConfig): Prompt[] {
  const [a, b, c] = [0, 1, 2].map((i) => randomIds(46, small.vocab, i));
  const other = (id: number) => (id === 3 ? 4 : 3);
  const own = [a, b.slice(0, 21), [...a.slice(0, 37), other(a[37]), ...c.slice(0, 4)], [...b.slice(0, 17), other(b[17]), c[0]], a];
  return own.map((ids, i) => ({ ids, ...(readsSource(model) && { source: sources[[0, 1, 0, 1, 0][i]] }) }));
}

/** What is heard of rows, and of two tokens more. */
async function heard(speaker: Speaker, join: (speech: ReturnType<Speaker["begin"]>) => Promise<Next[]>): Promise<Next[]> {
  const speech = speaker.begin();
  const first = await join(speech);
  const next = await speech.next(first.map((_, i) => 3 + (i % 3)));
  return [...first, ...next, ...(await speech.next(first.map((_, i) => 4 + (i % 2))))];
}

async function readIn(arrival: Arrival, piece: number): Promise<void> {
  for (let runs = 0; arrival.left > 0; runs++) {
    const before = arrival.left;
    await arrival.read(piece);
    expect(arrival.left).toBeLessThan(before);
    expect(runs).toBeLessThan(300);
  }
}

async function law(given: ModelInput): Promise<void> {
  const model = modelConfig(given);
  const speaker = speakerOf(model, { weights: clearWeights(model), threads: 1 });
  const prompts = promptsOf(model);
  const wanted = await heard(speaker, (speech) => speech.join(prompts));
  const expectAll = (found: readonly Next[], what: string) => {
    for (const [i, { scores, total }] of wanted.entries()) {
      expectSame(found[i].scores, scores, `${what}, ${i}`);
      expectSame([found[i].total], [total], `${what}, log Σ exp of ${i}`);
    }
  };
  for (const piece of [5, 60, 1000])
    expectAll(
      await heard(speaker, async (speech) => {
        const arrival = speech.arrive?.(prompts) as Arrival;
        await readIn(arrival, piece);
        expect(speech.lengths).toEqual([]);
        return speech.admit?.(arrival) as Next[];
      }),
      `pieces of ${piece}`,
    );
  for (const piece of [7, 1000]) {
    const prefixes = new Prefixes(1e9);
    let taken = 0;
    const found = await heard(speaker, async (speech) => {
      const next: Next[] = [];
      for (const group of [prompts.slice(0, 2), prompts.slice(2, 4), prompts.slice(4)]) {
        const beginnings = group.map((prompt) => prefixes.find(prompt));
        taken += beginnings.reduce((sum, one) => sum + (one?.tokens ?? 0), 0);
        const arrival = speech.arrive?.(group, beginnings) as Arrival;
        await readIn(arrival, piece);
        prefixes.add(arrival.known());
        const joined = speech.admit?.(arrival) ?? [];
        next.push(...joined);
      }
      return next;
    });
    expectAll(found, `beginnings of others, pieces of ${piece}`);
    expect(taken).toBe(model.model === "rnn" ? 32 + 0 + 32 : 37 + 17 + 45);
  }
  await speaker.release();
}

const named = (all: readonly Combination[]) => all.map((one) => [Object.values(one).join(" "), one] as const);

describe("in pieces, and with what was read of others, is whole and alone", () => {
  const decoders = publishedModels({ model: "decoder", ...small }, scoring);
  it.each([...named(combinations({}, possible)), ...decoders])("decoder: %s", (_, one) => law({ model: "decoder", ...small, ...one }));

  const crossed = publishedModels({ model: "encoder-decoder", ...small }, { ...scoring, ...sides });
  it.each([...named(combinations({ sourceVocab: [undefined, 7] }, crossing)), ...crossed])("encoder–decoder: %s", (_, one) =>
    law({ model: "encoder-decoder", ...small, ...one }),
  );

  const rnn = { model: "rnn", width: 6, vocab: small.vocab, context: small.context } as const;
  it.each(named(product({ cell: cells, layers: [1, 2], tie: [true, false] })))("RNN language model: %s", (_, one) =>
    law({ ...rnn, task: "lm", ...one }),
  );

  const translating = {
    cell: cells,
    attention: [true, false],
    bidirectional: [true, false],
    layers: [1, 2],
    score: scoreKinds,
    sourceVocab: [undefined, 7],
  };
  const unlike = ({ attention, score }: Combination) => attention === true || score === "additive";
  it.each(named(full ? product(translating).filter(unlike) : pairwise(translating, unlike)))("RNN encoder–decoder: %s", (_, one) =>
    law({ ...rnn, task: "translate", ...one }),
  );
});
