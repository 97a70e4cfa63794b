import { expect, it } from "vitest";
import { type Chance, chance } from "../../src/base/chance.ts";
import type { Next, Prompt } from "../../src/generation/speech.ts";
import { speakerOf } from "../../src/library/here.ts";
import { type ModelInput, modelConfig } from "../../src/models/any.ts";
import { clearWeights, expectSame, randomIds, WholeModel } from "./whole-model.ts";

// Rows join, leave, change places and are doubled at random moments; each one hears what it would hear alone.

const sizes = { layers: 2, width: 8, vocab: 9, context: 24 };
const transformer = { ...sizes, heads: 2 };
const recurrent = { ...sizes, layers: 1, context: 16 }; // unrolled, so less of everything
const models: Record<string, ModelInput> = {
  "a decoder with learned positions": { model: "decoder", ...transformer },
  "a decoder with sinusoids": { model: "decoder", ...transformer, positions: "sinusoidal" },
  "a decoder with rotary positions": { model: "decoder", ...transformer, positions: "rotary" },
  "a decoder with relative positions": { model: "decoder", ...transformer, positions: "relative" },
  "a decoder with ALiBi": { model: "decoder", ...transformer, positions: "alibi" },
  "a decoder without positions, linear": { model: "decoder", ...transformer, positions: "none", attention: "linear" },
  "a decoder without a mask": { model: "decoder", ...transformer, mask: "none" },
  "an encoder–decoder": { model: "encoder-decoder", ...transformer },
  "an encoder–decoder with keys and values of their own sizes": { model: "encoder-decoder", ...transformer, keySize: 6, valueSize: 3 },
  "an encoder–decoder with its mask after the softmax": { model: "encoder-decoder", ...transformer, mask: "after-softmax" },
  "an RNN language model": { model: "rnn", task: "lm", ...recurrent, layers: 2, cell: "lstm" },
  "an RNN encoder–decoder": { model: "rnn", ...recurrent, bidirectional: true },
  "an RNN encoder–decoder without attention": { model: "rnn", ...recurrent, attention: false },
};

interface Heard extends Prompt {
  readonly ids: number[];
  readonly scores: Float32Array;
}

/** Plays a schedule and gives all that was heard, each with the row that heard it. */
async function played(model: ReturnType<typeof modelConfig>, weights: ReturnType<typeof clearWeights>, source: Chance): Promise<Heard[]> {
  const speaker = speakerOf(model, { weights, threads: 1 });
  const speech = speaker.begin();
  const heard: Heard[] = [];
  const hear = (rows: readonly Prompt[], next: readonly Next[]) =>
    heard.push(...rows.map(({ ids, source: from }, i) => ({ ids: Array.from(ids), source: from, scores: next[i].scores.slice() })));
  const reads = model.model === "encoder-decoder" || (model.model === "rnn" && model.task === "translate");
  let rows: { ids: number[]; source?: Int32Array }[] = [];
  for (let move = 0; move < 45; move++) {
    const pick = source.fork(move);
    const kind = pick.uniform(0);
    if (rows.length === 0 || (kind < 0.25 && rows.length < 6)) {
      const joining = Array.from({ length: 1 + pick.integer(1, 3) }, (_, i) => ({
        ids: randomIds(1 + pick.integer(10 + i, 9), sizes.vocab, 100 * move + i),
        ...(reads && { source: Int32Array.from(randomIds(1 + pick.integer(20 + i, 15), sizes.vocab, 100 * move + 50 + i)) }),
      }));
      hear(joining, await speech.join(joining));
      rows = [...rows, ...joining];
    } else if (kind < 0.45) {
      const kept = Array.from({ length: pick.integer(1, Math.min(6, rows.length + 2)) }, (_, i) => pick.integer(10 + i, rows.length));
      speech.keep(kept);
      rows = kept.map((row) => rows[row]);
    } else {
      const open = [...rows.keys()].filter((row) => rows[row].ids.length < model.context);
      speech.keep(open);
      const tokens = open.map((_, i) => pick.integer(30 + i, sizes.vocab));
      rows = open.map((row, i) => ({ ...rows[row], ids: [...rows[row].ids, tokens[i]] }));
      if (rows.length > 0) hear(rows, await speech.next(tokens));
    }
    expect(speech.lengths).toEqual(rows.map(({ ids }) => ids.length));
  }
  await speaker.release();
  return heard;
}

it.each(Object.entries(models))("whoever else is there changes nothing: %s", async (_, given) => {
  const model = modelConfig(given);
  const weights = clearWeights(model);
  const heard = await played(model, weights, chance(11).fork("schedule"));
  const whole = new WholeModel(model, weights);
  const wanted = await whole.after(heard);
  await whole.release();
  expect(heard.length).toBeGreaterThan(60);
  for (const [i, { ids, scores }] of heard.entries()) expectSame(scores, wanted[i], `row [${ids}]`);
});
