import { ConfigError, DataError } from "../base/errors.ts";
import { Turns } from "../base/turns.ts";
import type { Batch } from "../batches/batch.ts";
import { countUnknown, cut, encodeAnswered, encodePairs, encoding } from "../batches/encode.ts";
import {
  type AnsweredIds,
  answeredLayout,
  type LabelledIds,
  pairLayout,
  type SeveralIds,
  scoringBatches,
  type TaggedIds,
} from "../batches/examples.ts";
import { hiddenScoring, roomIn } from "../batches/hidden.ts";
import type { Ids } from "../batches/ids.ts";
import { scoringWindows } from "../batches/windows.ts";
import { type TranslateOptions, translateIds } from "../generation/translator.ts";
import { bleu, bleuOrders, tokens13a } from "../metrics/bleu.ts";
import { chrf } from "../metrics/chrf.ts";
import { errorRate, exactMatch } from "../metrics/edits.ts";
import { words } from "../metrics/ngrams.ts";
import { bits, bitsPerByte, perplexity } from "../metrics/perplexity.ts";
import { takesAnyLength } from "../models/any.ts";
import { type Completed, type Conversation, type Example, isAnswer, type Pair } from "../text/examples.ts";
import { warnUnrounded } from "../trained/baked.ts";
import { hidingOf } from "../trained/hiding.ts";
import { beforeText, cutSentence, teller, unknownSentence, type Warn, type Warned } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { Group } from "../training/group.ts";
import { scoringRows, trainedLoss } from "../training/score.ts";
import { evaluateBatches } from "./batches.ts";
import { judgedRows, type LabelMeasures, labelMeasures, type SeveralMeasures } from "./label-measures.ts";
import { uselessWeights } from "./labels.ts";
import { nearest, questionsOf } from "./references.ts";

// How good a trained model is, with the measures of its task.

/** What a model is evaluated on. */
export type EvaluationData =
  /** Texts as ids, each scored by itself, and how many bytes they have in all. */
  | { readonly kind: "text"; readonly texts: readonly Ids[]; readonly bytes: number; readonly unknown?: number }
  /** Examples; and tests with longer ones, by name. */
  | { readonly kind: "examples"; readonly examples: readonly Example[]; readonly longer?: Readonly<Record<string, readonly Example[]>> };

export interface TextMeasures {
  /** Mean negative log-likelihood of a token, in nats. */
  readonly loss: number;
  readonly perplexity: number;
  readonly bitsPerToken: number;
  readonly bitsPerByte: number;
  readonly tokens: number;
  /** Windows that were scored. */
  readonly examples: number;
}

/** How well tokens that are hidden are found, the same ones every time. */
export interface HiddenMeasures {
  /** Mean negative log-likelihood of a hidden token, in nats. */
  readonly loss: number;
  readonly perplexity: number;
  /** The share of hidden tokens that have the highest score. */
  readonly accuracy: number;
  /** Tokens that were hidden. */
  readonly tokens: number;
  /** Windows that they were hidden in. */
  readonly examples: number;
}

/** Where the data lists several targets for a source, an answer is measured against the nearest of them. */
export interface TranslationMeasures {
  readonly bleu: number;
  readonly chrf: number;
  readonly exact: number;
  readonly tokenErrorRate: number;
  readonly wordErrorRate: number;
  readonly examples: number;
  /** Different sources, where there are fewer than examples. */
  readonly sources?: number;
  /** The share of answers that are the first target listed, where there are several for a source. */
  readonly exactFirst?: number;
}

/** The main measure again, on tests with examples longer than any that was trained on: `accuracy2x`, `exactLonger`. */
export type LongerMeasures = Readonly<Record<`accuracy${string}` | `exact${string}`, number | undefined>>;

export type Measures = TextMeasures | HiddenMeasures | ((LabelMeasures | SeveralMeasures | TranslationMeasures) & LongerMeasures);

export interface EvaluateOptions extends TranslateOptions, Warned {
  /** Who measures together, each some of the data; all get the same measures. */
  readonly group?: Group;
}

export async function evaluate(trained: TrainedModel, data: EvaluationData, options: EvaluateOptions = {}): Promise<Measures> {
  requireFitting(trained, data);
  options.signal?.throwIfAborted();
  warnUnrounded(trained, teller(options, trained));
  if (data.kind === "text") return trained.task === "mlm" ? evaluateHidden(trained, data, options) : evaluateText(trained, data, options);
  const measured = (examples: readonly Example[]) =>
    trained.task === "translate" ? evaluateTranslation(trained, examples as Pair[], options) : evaluateLabels(trained, examples, options);
  if (trained.task === "lm") return evaluateAnswers(trained, data.examples as (Completed | Conversation)[], options);
  const measures = await measured(data.examples);
  const longer: Record<string, number> = {};
  for (const [name, examples] of Object.entries(data.longer ?? {})) {
    const found = await measured(examples);
    if ("exact" in found) longer[`exact${name}`] = found.exact;
    else longer[`accuracy${name}`] = found.accuracy;
  }
  return { ...measures, ...longer };
}

/** Texts are for language models and for hidden tokens, and examples for the others; prompts with completions, and conversations, are for language models too. */
export function requireFitting({ task, name }: TrainedModel, data: EvaluationData): void {
  const answered = data.kind === "examples" && data.examples.every((example) => "prompt" in example || "messages" in example);
  const fits = data.kind === "text" ? task === "lm" || task === "mlm" : answered ? task === "lm" : task !== "lm" && task !== "mlm";
  if (fits) return;
  const labelled = "examples with labels or targets";
  const wanted = task === "lm" ? "texts or on answers to prompts" : task === "mlm" ? "texts" : labelled;
  const found = data.kind === "text" ? "texts" : answered ? "answers to prompts" : labelled;
  throw new ConfigError(`${name} is for ${task}, which is measured on ${wanted}, not on ${found}`, {
    code: "config.task",
  });
}

type TextData = Extract<EvaluationData, { kind: "text" }>;

async function evaluateText(trained: TrainedModel, data: TextData, options: EvaluateOptions): Promise<TextMeasures> {
  warnUnknown(data.unknown ?? 0, teller(options, trained));
  const { context } = trained.model;
  const { loss, targets: tokens } = await trainedLoss(trained, windowsOf(trained, data), options);
  if (!Number.isFinite(loss)) throw uselessWeights();
  const shares = { perplexity: perplexity(loss), bitsPerToken: bits(loss), bitsPerByte: bitsPerByte(loss * tokens, data.bytes) };
  return { loss, ...shares, tokens, examples: data.texts.reduce((total, { length }) => total + Math.ceil(length / context), 0) };
}

async function evaluateHidden(trained: TrainedModel, data: TextData, options: EvaluateOptions): Promise<HiddenMeasures> {
  warnUnknown(data.unknown ?? 0, teller(options, trained));
  const { model } = trained;
  const hiding = hidingOf(trained);
  const inner = roomIn(model.context, hiding);
  function* batches(): Generator<Batch> {
    for (const ids of data.texts) yield* hiddenScoring(ids, { batch: scoringRows(model), context: model.context }, hiding);
  }
  const { loss, perplexity: surprise, accuracy, targets: tokens } = await evaluateBatches(trained, batches(), options);
  if (tokens === 0)
    throw new DataError("no token of the text may be hidden: all are unknown to the tokenizer, or special; give another text");
  const examples = data.texts.reduce((total, { length }) => total + Math.ceil(length / inner), 0);
  return { loss, perplexity: surprise, accuracy, tokens, examples };
}

/** How well the answers are foretold; prompts are only read. */
async function evaluateAnswers(
  trained: TrainedModel,
  examples: readonly (Completed | Conversation)[],
  options: EvaluateOptions,
): Promise<TextMeasures> {
  const { tokenizer } = trained;
  const whole = await new Turns(options.signal).mapped(examples, (some) => encodeAnswered(some, tokenizer, trained.chat));
  const warn = teller(options, trained);
  warnUnknown(countUnknown(whole, tokenizer), warn);
  const encoded = shortened(whole, trained, warn, answeredLayout.begin);
  const bytes = examples.reduce((total, example) => total + answerBytes(example), 0);
  const { loss, targets: tokens } = await trainedLoss(trained, answerBatches(trained, encoded), options);
  if (!Number.isFinite(loss)) throw uselessWeights();
  const shares = { perplexity: perplexity(loss), bitsPerToken: bits(loss), bitsPerByte: bitsPerByte(loss * tokens, bytes) };
  return { loss, ...shares, tokens, examples: examples.length };
}

const answerBytes = (example: Completed | Conversation): number => {
  const said =
    "prompt" in example
      ? [example.completion]
      : example.messages
          .slice(example.from)
          .filter(isAnswer)
          .map(({ content }) => content);
  return new TextEncoder().encode(said.join("")).length;
};

function* answerBatches({ model }: TrainedModel, examples: readonly AnsweredIds[]): Generator<Batch> {
  const longest = examples.reduce((most, { ids }) => Math.max(most, ids.length), 1);
  const batch = scoringRows({ ...model, context: longest });
  yield* scoringBatches(examples, answeredLayout, { batch, shapes: takesAnyLength(model) ? "any" : "few" });
}

function* windowsOf({ model, tokenizer }: TrainedModel, { texts }: TextData, windows?: number): Generator<Batch> {
  const options = { batch: scoringRows(model), context: model.context, before: beforeText(tokenizer), windows };
  for (const ids of texts) yield* scoringWindows(ids, options);
}

async function evaluateLabels(
  trained: TrainedModel,
  examples: readonly Example[],
  options: EvaluateOptions,
): Promise<LabelMeasures | SeveralMeasures> {
  const { task, tokenizer, labels, model } = trained;
  const labelling = model.model === "encoder" ? model.labelling : "one";
  const { encode, layout } = encoding(task as "classify" | "tag", tokenizer, labels, labelling);
  const whole = await new Turns(options.signal).mapped(examples, encode);
  const warn = teller(options, trained);
  warnUnknown(countUnknown(whole, tokenizer), warn);
  const encoded = shortened(whole, trained, warn) as readonly (LabelledIds | SeveralIds | TaggedIds)[];
  return labelMeasures(trained, await judgedRows(trained, encoded, layout, options.signal, options.group));
}

async function evaluateTranslation(
  trained: TrainedModel,
  examples: readonly Pair[],
  options: EvaluateOptions,
): Promise<TranslationMeasures> {
  const { tokenizer } = trained;
  const whole = await new Turns(options.signal).mapped(examples, (some) => encodePairs(some, tokenizer));
  const warn = teller(options, trained);
  warnUnknown(countUnknown(whole, tokenizer), warn);
  const encoded = shortened(whole, trained, warn);
  const questions = questionsOf(examples);
  const sources = questions.map(({ place }) => encoded[place].source);
  const targets = (await translateIds(trained, sources, options)).map(({ tokens }) => tokens);
  const hypotheses = targets.map((ids) => tokenizer.decode(ids));
  const references = questions.map((question, i) => nearest(hypotheses[i], question.references));
  const first = questions.map((question) => question.references[0]);
  const short = references.filter((text) => tokens13a(text).length < bleuOrders).length;
  if (2 * short > references.length) warn(shortTargets(short, references.length));
  return {
    bleu: bleu(hypotheses, references),
    chrf: chrf(hypotheses, references),
    exact: exactMatch(hypotheses, references),
    tokenErrorRate: errorRate(
      targets.map((ids) => [...ids]),
      references.map((text) => [...tokenizer.encode(text)]),
    ),
    wordErrorRate: errorRate(hypotheses.map(words), references.map(words)),
    examples: examples.length,
    ...(questions.length < examples.length && { sources: questions.length, exactFirst: exactMatch(hypotheses, first) }),
  };
}

const shortTargets = (short: number, all: number): string =>
  `${short} of ${all} targets have fewer than ${bleuOrders} words, and BLEU counts runs of up to ${bleuOrders}: exact, chrf and the error rates say more here`;

function warnUnknown(count: number, warn: Warn): void {
  for (const sentence of unknownSentence(count)) warn(sentence);
}

function shortened<E extends object>(
  examples: readonly E[],
  { model: { context }, tokenizer }: TrainedModel,
  warn: Warn,
  begin?: (example: E, context: number) => number,
): readonly E[] {
  const { examples: shorter, count } = cut(examples, context, tokenizer, begin);
  for (const sentence of cutSentence(count, examples.length, "examples", context)) warn(sentence);
  return shorter;
}

const mostTokens = 16_384;

/** A part of the data, large enough to see what rounding does to a model that writes. */
export function* fewBatches(trained: TrainedModel, data: EvaluationData): Generator<Batch> {
  const { model, tokenizer } = trained;
  if (data.kind === "text") {
    yield* windowsOf(trained, data, Math.ceil(mostTokens / model.context));
    return;
  }
  if (trained.task === "lm") {
    const answers = encodeAnswered(data.examples as (Completed | Conversation)[], tokenizer, trained.chat);
    yield* answerBatches(trained, few(cut(answers, model.context, tokenizer, answeredLayout.begin).examples));
    return;
  }
  const pairs = cut(encodePairs(data.examples as Pair[], tokenizer), model.context, tokenizer).examples;
  yield* scoringBatches(few(pairs), pairLayout, { batch: 32, shapes: "any" });
}

function few<E extends { readonly targets: Int32Array }>(examples: readonly E[]): readonly E[] {
  const usualLength = examples.reduce((sum, { targets }) => sum + targets.length, 0) / examples.length;
  return examples.slice(0, Math.max(1, Math.ceil(mostTokens / usualLength)));
}
