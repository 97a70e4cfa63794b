import { DataError } from "../base/errors.ts";
import { Turns } from "../base/turns.ts";
import { ignored } from "../batches/batch.ts";
import { countUnknown, cut, tagUnits, wordsOf } from "../batches/encode.ts";
import {
  type LabelledIds,
  type Layout,
  labelledLayout,
  type SeveralIds,
  severalLayout,
  type TaggedIds,
  taggedLayout,
} from "../batches/examples.ts";
import { separateShares, shares } from "../metrics/calibration.ts";
import { givesSeveral } from "../models/any.ts";
import { around, frameOf } from "../tokens/around.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { warnUnrounded } from "../trained/baked.ts";
import { cutSentence, teller, unknownSentence, type Warned } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { given } from "./label-measures.ts";
import { labelScores, likeliest, type Scoring } from "./labels.ts";

// Labels and tags for texts that have none. Any number of texts goes through, a chunk at a time, and comes out in order.

export interface Classification {
  readonly text: string;
  /** The likeliest label. */
  readonly label: string;
  /** Those of a probability of at least 0.5, the likeliest first; only of a model whose texts have several labels. */
  readonly labels?: readonly string[];
  /** Of every label; together 1, unless texts have several. */
  readonly probabilities: Readonly<Record<string, number>>;
}

export interface Tagging {
  readonly text: string;
  /** What the tags belong to: words, or characters (bytes) where the model was trained on those. */
  readonly tokens: readonly string[];
  /** The likeliest tag of each. */
  readonly tags: readonly string[];
}

export interface PredictOptions extends Warned {
  /** What a text is called in errors and warnings, such as "line". */
  readonly unit?: string;
  /** Aborted, it leaves off before the next run of the engine, and throws the signal's reason. */
  readonly signal?: AbortSignal;
}

export type Texts = Iterable<string> | AsyncIterable<string>;

export const classifyTexts = (trained: TrainedModel, texts: Texts, options: PredictOptions = {}) =>
  givesSeveral(trained.model)
    ? predict(trained, texts, options, choosing(trained))
    : predict(trained, texts, options, classifying(trained));

export const tagTexts = (trained: TrainedModel, texts: Texts, options: PredictOptions = {}) =>
  predict(trained, texts, options, tagging(trained.tokenizer));

/** How one task's texts become ids, and its scores an answer. */
export interface Reading<E, Answer> {
  /** Left out where any encoder will do. */
  readonly task?: "classify" | "tag";
  /** Which scores, where they are not the model's own. */
  readonly scoring?: Scoring;
  readonly layout: Layout<E>;
  encode(text: string): E;
  answer(text: string, example: E, scores: Float32Array, labels: readonly string[]): Answer;
}

const named = (labels: readonly string[], probabilities: readonly number[]): Record<string, number> =>
  Object.fromEntries(labels.map((label, i) => [label, probabilities[i]]));

const classifying = ({ tokenizer, temperature }: TrainedModel): Reading<LabelledIds, Classification> => ({
  task: "classify",
  layout: labelledLayout,
  encode: (text) => ({ ids: around(tokenizer.encode(text), tokenizer), label: ignored }),
  answer(text, _, scores, labels) {
    return { text, label: labels[likeliest(scores)], probabilities: named(labels, shares(scores, temperature)) };
  },
});

/** Any number of labels for a text. */
const choosing = ({ tokenizer, temperature, labels: { length } }: TrainedModel): Reading<SeveralIds, Classification> => ({
  task: "classify",
  layout: severalLayout,
  encode: (text) => ({ ids: around(tokenizer.encode(text), tokenizer), there: new Uint8Array(length) }),
  answer(text, _, scores, labels) {
    const order = [...labels.keys()].sort((a, b) => scores[b] - scores[a] || a - b);
    const chosen = order.filter((i) => given(scores[i])).map((i) => labels[i]);
    return { text, label: labels[likeliest(scores)], labels: chosen, probabilities: named(labels, separateShares(scores, temperature)) };
  },
});

interface Unit {
  readonly name: string;
  /** Tokens. */
  readonly length: number;
}

const tagging = (tokenizer: Tokenizer): Reading<TaggedIds & { readonly units: readonly Unit[] }, Tagging> => ({
  task: "tag",
  layout: taggedLayout,
  encode(text) {
    const pieces = tagUnits(text, tokenizer);
    const names = unitNames(text, pieces, tokenizer);
    const ids = around(Int32Array.from(pieces.flatMap((piece) => [...piece])), tokenizer);
    return { ids, tags: new Int32Array(ids.length).fill(ignored), units: pieces.map(({ length }, i) => ({ name: names[i], length })) };
  },
  answer(text, { ids, units }, scores, labels) {
    const [tokens, tags]: [string[], string[]] = [[], []];
    const { before, after } = frameOf(tokenizer);
    let at = before.length; // the token that carries a unit's tag is its first
    for (const { name, length } of units) {
      if (at >= ids.length - after.length) break; // cut off
      if (length > 0) {
        tokens.push(name);
        tags.push(labels[likeliest(scores.subarray(at * labels.length, (at + 1) * labels.length))]);
      }
      at += length;
    }
    return { text, tokens, tags };
  },
});

/** The units as they stand in the text; a special token that is written out in it is one unit of several characters. */
function unitNames(text: string, units: readonly Int32Array[], tokenizer: Tokenizer): readonly string[] {
  const written = tokenizer.kind === "char" ? [...text] : tokenizer.kind === "byte" ? [] : wordsOf(text);
  return written.length === units.length ? written : units.map(([id]) => tokenizer.piece(id));
}

const atOnce = 1024;

export async function* predict<E extends LabelledIds | SeveralIds | TaggedIds, Answer>(
  trained: TrainedModel,
  texts: Texts,
  options: PredictOptions,
  { task, layout, scoring, encode, answer }: Reading<E, Answer>,
): AsyncGenerator<Answer> {
  if (task) trained.require(task);
  const { unit = "text", signal } = options;
  const { context } = trained.model;
  const [warn, turns] = [teller(options, trained), new Turns(signal)];
  signal?.throwIfAborted();
  warnUnrounded(trained, warn);
  let [all, shortened, unknown] = [0, 0, 0];
  for await (const chunk of chunks(texts, atOnce)) {
    const { encoded: whole, failure } = untilEmpty(
      await turns.mapped(chunk, (some) => some.map(encode)),
      trained.tokenizer,
      (i) => `${unit} ${all + i + 1}`,
    );
    if (failure && whole.length === 0) throw failure;
    const { examples, count } = cut(whole, context, trained.tokenizer);
    [all, shortened, unknown] = [all + chunk.length, shortened + count, unknown + countUnknown(whole, trained.tokenizer)];
    const answers: Answer[] = new Array(whole.length);
    for await (const { place, scores } of labelScores(trained, examples, layout, signal, scoring))
      answers[place] = answer(chunk[place], examples[place], scores, trained.labels);
    yield* answers;
    if (failure) throw failure;
  }
  for (const sentence of [...cutSentence(shortened, all, `${unit}s`, context), ...unknownSentence(unknown)]) warn(sentence);
}

export async function* chunks(texts: Texts, size: number): AsyncGenerator<string[]> {
  let chunk: string[] = [];
  for await (const text of texts) {
    chunk.push(text);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** Texts up to the first with nothing in it: those before it are answered, and then it is refused. */
function untilEmpty<E extends { readonly ids: Int32Array }>(
  all: E[],
  tokenizer: Tokenizer,
  where: (place: number) => string,
): { encoded: E[]; failure?: DataError } {
  const nothing = around(new Int32Array(), tokenizer).length;
  const empty = all.findIndex(({ ids }) => ids.length === nothing);
  if (empty < 0) return { encoded: all };
  const failure = new DataError(`${where(empty)}: there is nothing in it that the model could read; give some words, or leave it out`);
  return { encoded: all.slice(0, empty), failure };
}
