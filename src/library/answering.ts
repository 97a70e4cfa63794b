import { encodeSource, tagUnits } from "../batches/encode.ts";
import { classifyTexts, type PredictOptions, tagTexts } from "../evaluation/predict.ts";
import { translateTexts } from "../evaluation/translate.ts";
import type { TranslateOptions } from "../generation/translator.ts";
import { type WriteOptions, writeBest, writeSamples } from "../generation/writer.ts";
import { givesSeveral, readsSource } from "../models/any.ts";
import type { Cell } from "../text/row-writer.ts";
import type { TableFormat } from "../text/rows.ts";
import { around } from "../tokens/around.ts";
import type { TrainedModel } from "../trained/trained.ts";

// How the rows of a file are answered: which column holds the text, what is added to it, and how many rows go together.

export const answerKinds = ["classify", "tag", "translate", "generate"] as const;
export type AnswerKind = (typeof answerKinds)[number];

export interface AnswerOptions extends Omit<WriteOptions, "samples" | "warn" | "draws">, TranslateOptions {
  /** Of classes: the probability of each, not only of the likeliest. */
  readonly probabilities?: boolean;
}

export interface Answering {
  /** The column that is read if none is named, where the run has no name of its own for it. */
  readonly column: "text" | "source" | "prompt";
  /** Names of what is added. */
  readonly added: readonly string[];
  /** Rows that are answered together: those of like length share batches. */
  readonly rows: number;
  /** The tokens that the model gets of a text, before they are cut to this many. */
  ids(text: string): Int32Array;
  readonly longest: number;
  /** Whether there is an answer to nothing at all: a text from its beginning. */
  readonly answersNothing: boolean;
  /** `rows` are their numbers in the file: rows with equal texts are still different draws. */
  answer(texts: readonly string[], rows: readonly number[]): Promise<readonly (readonly Cell[])[]>;
}

/** Warnings are counted over all rows, by whoever reads them. */
const quiet: PredictOptions = { warn: false };

type Make = (trained: TrainedModel, format: TableFormat, options: AnswerOptions) => Answering;

const classifying: Make = (trained, format, { probabilities }) => {
  const { labels, tokenizer, model } = trained;
  const columns = format === "jsonl" ? ["probabilities"] : labels.map((label) => `probability_${label}`);
  const several = givesSeveral(model);
  const all = (shares: readonly number[]): Cell[] =>
    format === "jsonl" ? [Object.fromEntries(labels.map((label, i) => [label, shares[i]]))] : [...shares];
  return {
    column: "text",
    added: ["label", ...(several ? ["labels"] : []), "probability", ...(probabilities ? columns : [])],
    rows: 1024,
    ids: (text) => framedIds(tokenizer.encode(text), trained),
    longest: model.context,
    answersNothing: false,
    answer: (texts) =>
      collected(classifyTexts(trained, texts, quiet), ({ label, labels: chosen = [], probabilities: found }) => {
        const shares = labels.map((name) => short(found[name]));
        const list: Cell[] = several ? [format === "jsonl" ? chosen : chosen.join(" ")] : [];
        return [label, ...list, short(found[label]), ...(probabilities ? all(shares) : [])];
      }),
  };
};

/** In .jsonl a list of tokens stands beside the list of their tags; elsewhere tags stand as training reads them. */
const tagging: Make = (trained, format) => ({
  column: "text",
  added: format === "jsonl" ? ["tokens", "tags"] : ["tags"],
  rows: 1024,
  ids: (text) => framedIds(Int32Array.from(tagUnits(text, trained.tokenizer).flatMap((unit) => [...unit])), trained),
  longest: trained.model.context,
  answersNothing: false,
  answer: (texts) =>
    collected(tagTexts(trained, texts, quiet), ({ tokens, tags }) => (format === "jsonl" ? [tokens, tags] : [tags.join(" ")])),
});

const translating: Make = (trained, _, { beams, lengthPenalty }) => ({
  column: "source",
  added: ["target", "logProbability"],
  rows: 256,
  ids: (text) => sourceIds(text, trained),
  longest: trained.model.context,
  answersNothing: false,
  answer: (texts) =>
    collected(translateTexts(trained, texts, { ...quiet, beams, lengthPenalty }), ({ target, logProbability }) => [
      target,
      short(logProbability),
    ]),
});

/** Rows that are written for together. */
const writtenTogether = 64;

const generating: Make = (trained, _, { probabilities: __, beams = 1, lengthPenalty, ...options }) => {
  const { model, tokenizer } = trained;
  const source = readsSource(model);
  const { tokens, stop, strict } = options;
  return {
    column: source ? "source" : "prompt",
    added: ["completion", "logProbability", "finish"],
    rows: Math.max(1, Math.floor(writtenTogether / beams)),
    ids: (text) => (source ? sourceIds(text, trained) : tokenizer.encode(text)),
    longest: model.model === "rnn" && model.task === "lm" ? Number.POSITIVE_INFINITY : model.context,
    answersNothing: !source,
    async answer(texts, rows) {
      const samples =
        beams > 1
          ? await writeBest(trained, texts, { beams, lengthPenalty, tokens, stop, strict, ...quiet })
          : await writeSamples(trained, texts, { ...options, draws: rows, ...quiet });
      return samples.map(([{ text, logProbability, finish }]) => [text, short(logProbability), finish]);
    },
  };
};

const kinds: Readonly<Record<AnswerKind, Make>> = { classify: classifying, tag: tagging, translate: translating, generate: generating };

/** How a model answers rows; by its task, if nothing else is asked for. */
export function answeringOf(trained: TrainedModel, kind: AnswerKind, format: TableFormat, options: AnswerOptions): Answering {
  if (kind !== "generate") trained.require(kind);
  else if (trained.task === "classify" || trained.task === "tag") trained.require("lm");
  return kinds[kind](trained, format, options);
}

/** Nothing where nothing is. */
const framedIds = (ids: Int32Array, { tokenizer }: TrainedModel): Int32Array => (ids.length === 0 ? ids : around(ids, tokenizer));

/** Nothing where nothing is, without the token that ends a source. */
function sourceIds(text: string, { tokenizer }: TrainedModel): Int32Array {
  const ids = tokenizer.encode(text);
  return ids.length === 0 ? ids : encodeSource(text, tokenizer);
}

/** Six digits: more than the engine's arithmetic can promise. */
const short = (value: number): number => Number(value.toPrecision(6));

async function collected<Answer>(answers: AsyncIterable<Answer>, cells: (answer: Answer) => Cell[]): Promise<Cell[][]> {
  const all: Cell[][] = [];
  for await (const answer of answers) all.push(cells(answer));
  return all;
}
