import { describe, expect, it } from "vitest";
import type { Next } from "../../src/generation/speech.ts";
import { maskPlaces } from "../../src/layers/attention.ts";
import { normPlaces } from "../../src/layers/block.ts";
import { positionJoins } from "../../src/layers/positions.ts";
import { cells, recurrences } from "../../src/layers/recurrent.ts";
import { scoreKinds } from "../../src/layers/scores.ts";
import { speakerOf } from "../../src/library/here.ts";
import { type ModelConfig, type ModelInput, modelConfig } from "../../src/models/any.ts";
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
import { clearWeights, expectSame, logSumExp, randomIds, spread, WholeModel } from "./whole-model.ts";

// What is said token by token, with rows of many lengths together, is what the whole model says of each whole row. Every pair of
// choices occurs here; QKV_LAWS=full runs the product of all that happens inside attention.

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
const combinations = (extra: Record<string, readonly unknown[]>, allowed: (one: Combination) => boolean): Combination[] =>
  full ? product(choices).filter(allowed) : pairwise({ ...choices, ...rest, ...extra }, allowed);

const small = { layers: 2, heads: 2, width: 8, hidden: 12, context: 10, vocab: 9 };
const promptLengths = [1, 2, 7, small.context - 1, small.context];
const sources = [4, 1, 10, 6, 2].map((length, i) => Int32Array.from(randomIds(length, 7, 20 + i)));

async function law(given: ModelInput): Promise<void> {
  const model = modelConfig(given);
  const weights = clearWeights(model);
  const whole = new WholeModel(model, weights);
  const speaker = speakerOf(model, { weights, threads: 1 });
  const speech = speaker.begin();
  let rows = promptLengths.map((length, i) => ({ all: randomIds(small.context, small.vocab, i), length, source: sourceOf(model, i) }));
  let found = await speech.join(rows.map(({ all, length, source }) => ({ ids: all.slice(0, length), source })));
  for (;;) {
    const wanted = await whole.after(rows.map(({ all, length, source }) => ({ ids: all.slice(0, length), source })));
    for (const [i, scores] of wanted.entries()) expectNext(found[i], scores, `the row of ${rows[i].length} tokens`);
    const open = [...rows.keys()].filter((i) => rows[i].length < small.context);
    if (open.length === 0) break;
    speech.keep(open);
    rows = open.map((i) => ({ ...rows[i], length: rows[i].length + 1 }));
    found = await speech.next(rows.map(({ all, length }) => all[length - 1]));
    expect(speech.lengths).toEqual(rows.map(({ length }) => length));
  }
  await whole.release();
  await speaker.release();
}

const sourceOf = (model: ModelConfig, i: number): Int32Array | undefined =>
  model.model === "encoder-decoder" || (model.model === "rnn" && model.task === "translate") ? sources[i] : undefined;

function expectNext({ scores, total }: Next, wanted: Float32Array, what: string): void {
  expectSame(scores, wanted, what);
  expect(spread(wanted), "scores that differ").toBeGreaterThan(0.02);
  expectSame([total], [logSumExp(scores)], `log Σ exp of ${what}`);
}

const named = (all: readonly Combination[]) => all.map((one) => [Object.values(one).join(" "), one] as const);

describe("token by token equals all at once", () => {
  const decoders = publishedModels({ model: "decoder", ...small }, scoring);
  it.each([...named(combinations({}, possible)), ...decoders])("decoder: %s", (_, one) => law({ model: "decoder", ...small, ...one }));

  const crossed = publishedModels({ model: "encoder-decoder", ...small }, { ...scoring, ...sides });
  it.each([...named(combinations({ sourceVocab: [undefined, 7] }, crossing)), ...crossed])("encoder–decoder: %s", (_, one) =>
    law({ model: "encoder-decoder", ...small, ...one }),
  );

  const rnn = { model: "rnn", width: 6, vocab: small.vocab, context: small.context } as const;
  it.each(named(product({ cell: cells, layers: [1, 2], tie: [true, false], recurrence: recurrences })))(
    "RNN language model: %s",
    (_, one) => law({ ...rnn, task: "lm", ...one }),
  );

  const translating = {
    cell: cells,
    attention: [true, false],
    bidirectional: [true, false],
    layers: [1, 2],
    score: scoreKinds,
    tie: [true, false],
    sourceVocab: [undefined, 7],
    recurrence: recurrences,
  };
  const unlike = ({ attention, score }: Combination) => attention === true || score === "additive";
  it.each(named(full ? product(translating).filter(unlike) : pairwise(translating, unlike)))("RNN encoder–decoder: %s", (_, one) =>
    law({ ...rnn, task: "translate", ...one }),
  );
});
