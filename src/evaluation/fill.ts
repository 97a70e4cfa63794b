import { DataError } from "../base/errors.ts";
import { ignored } from "../batches/batch.ts";
import { type TaggedIds, taggedLayout } from "../batches/examples.ts";
import { around, frameOf } from "../tokens/around.ts";
import { maskOf } from "../trained/hiding.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { requireFinite } from "./labels.ts";
import { type PredictOptions, predict, type Reading, type Texts } from "./predict.ts";

// What stood where a text has a mask, from a model that was trained to say it.

export interface Candidate {
  /** As the vocabulary has it. */
  readonly token: string;
  readonly probability: number;
  /** The text with it in the place of the mask; other masks stay. */
  readonly text: string;
}

export interface Filling {
  readonly text: string;
  /** For each mask, the likeliest tokens. */
  readonly masks: readonly (readonly Candidate[])[];
}

export interface FillOptions extends PredictOptions {
  /** How many candidates for each mask; 5 if left out. */
  readonly top?: number;
}

export const usualCandidates = 5;

/** Scores of a whole vocabulary at each position are many numbers. */
const rowsAtOnce = 4;

export async function* fillTexts(trained: TrainedModel, texts: Texts, options: FillOptions = {}): AsyncGenerator<Filling> {
  trained.require("mlm");
  const { model, tokenizer } = trained;
  const { top = usualCandidates } = options;
  const mask = maskOf(trained);
  const reading: Reading<TaggedIds, Filling> = {
    layout: taggedLayout,
    scoring: { key: "scores", model, rowsAtOnce },
    encode(text) {
      const ids = around(tokenizer.encode(text), tokenizer);
      if (!ids.includes(mask.id)) throw new DataError(`there is no ${mask.token} in "${text}"; write it where a word is to be found`);
      if (ids.length > model.context && ids.lastIndexOf(mask.id) >= model.context - frameOf(tokenizer).after.length)
        throw new DataError(
          `a ${mask.token} in "${text}" lies beyond the ${model.context} tokens that the model reads; give a shorter text around it`,
        );
      return { ids, tags: new Int32Array(ids.length).fill(ignored) };
    },
    answer(text, { ids }, scores) {
      const places = [...ids.keys()].filter((place) => ids[place] === mask.id);
      const rowOf = (place: number) => requireFinite(scores.subarray(place * model.vocab, (place + 1) * model.vocab));
      const filled = (id: number, nth: number) => withoutMask(text, mask.token, nth, tokenizer.decode([id]));
      const masks = places.map((place, nth) =>
        likeliest(rowOf(place).subarray(0, tokenizer.size), top).map(({ id, probability }) => ({
          token: tokenizer.piece(id),
          probability,
          text: filled(id, nth),
        })),
      );
      return { text, masks };
    },
  };
  yield* predict(trained, texts, options, reading);
}

/** The tokens with the highest scores, by their share of the softmax over all. */
function likeliest(scores: Float32Array, top: number): { readonly id: number; readonly probability: number }[] {
  const highest = scores.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
  const total = scores.reduce((sum, score) => sum + Math.exp(score - highest), 0);
  const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a] || a - b);
  return order.slice(0, top).map((id) => ({ id, probability: Math.exp(scores[id] - highest) / total }));
}

/** The text with a word in the place of its nth mask. */
function withoutMask(text: string, mask: string, nth: number, word: string): string {
  const parts = text.split(mask);
  const [before, after] = [parts.slice(0, nth + 1).join(mask), parts.slice(nth + 1).join(mask)];
  if (word.startsWith("##")) return `${before.trimEnd()}${word.slice(2)}${after}`; // the rest of a word
  return `${before}${before.endsWith(" ") ? word.trimStart() : word}${after}`;
}
