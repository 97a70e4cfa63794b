import { expect, it } from "vitest";
import { positionKinds } from "../../src/layers/positions.ts";
import { speakerOf } from "../../src/library/here.ts";
import { type ModelInput, modelConfig } from "../../src/models/any.ts";
import { clearWeights, expectSame, randomIds, WholeModel } from "./whole-model.ts";

// Room is made in steps of 64 places, and an RNN reads prompts in pieces of 32: nothing happens at these borders.

const sizes = { layers: 1, width: 8, vocab: 9, context: 200 };
const models: [string, ModelInput][] = [
  ...positionKinds.map((positions): [string, ModelInput] => [
    `a decoder, ${positions} positions`,
    { model: "decoder", heads: 2, ...sizes, positions },
  ]),
  ["an encoder–decoder", { model: "encoder-decoder", heads: 2, ...sizes }],
  ["a GRU", { model: "rnn", task: "lm", ...sizes, context: 102 }],
];

it.each(models)("rows grow past every border: %s", async (_, given) => {
  const model = modelConfig(given);
  const weights = clearWeights(model);
  const lengths = model.context === 200 ? [1, 31, 32, 33, 62, 64, 65, 127, 128] : [1, 31, 32, 33, 64, 65];
  const rows = lengths.map((length, i) => ({
    all: randomIds(model.context, model.vocab, i),
    length,
    source:
      model.model === "encoder-decoder" ? Int32Array.from(randomIds(1 + ((40 * i) % (model.context - 1)), model.vocab, 50 + i)) : undefined,
  }));
  const heard: { ids: number[]; source?: Int32Array; scores: Float32Array }[] = [];
  const speaker = speakerOf(model, { weights, threads: 1 });
  const speech = speaker.begin();
  const read = ({ all, length, source }: (typeof rows)[number], more = 0) => ({ ids: all.slice(0, length + more), source });
  const late = rows.slice(4);
  const first = await speech.join(rows.slice(0, 4).map((row) => read(row)));
  const second = await speech.join(late.map((row) => read(row))); // longer than those there are: everybody gets more room
  for (const [i, { scores }] of [...first, ...second].entries()) heard.push({ ...read(rows[i]), scores });
  for (let more = 1; more <= 36; more++) {
    const next = await speech.next(rows.map(({ all, length }) => all[length + more - 1]));
    for (const [i, { scores }] of next.entries()) heard.push({ ...read(rows[i], more), scores });
  }
  speech.keep([1, 0]); // back to little room
  const after = await speech.next([rows[1].all[67], rows[0].all[37]]);
  heard.push({ ...read(rows[1], 37), scores: after[0].scores }, { ...read(rows[0], 37), scores: after[1].scores });
  await speaker.release();
  const whole = new WholeModel(model, weights);
  for (let i = 0; i < heard.length; i += 64) {
    const some = heard.slice(i, i + 64);
    const wanted = await whole.after(some);
    for (const [j, { ids, scores }] of some.entries()) expectSame(scores, wanted[j], `after ${ids.length} tokens`);
  }
  await whole.release();
  expect(speech.lengths).toEqual([68, 38]);
});
