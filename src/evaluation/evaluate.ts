import { ignored } from "../batches/batch.ts";
import { countUnknown, cut, encodePairs } from "../batches/encode.ts";
import type { LabelledIds, TaggedIds } from "../batches/examples.ts";
import { scoringWindows } from "../batches/windows.ts";
import { encoding } from "../data/encoded.ts";
import type { HeldOut } from "../data/held-out.ts";
import { scoringRows } from "../data/material.ts";
import { bytesOf } from "../data/texts.ts";
import { separator, type TokenisedText, tokenise } from "../data/tokenised.ts";
import { unwritten } from "../generation/prompt.ts";
import { type TranslateOptions, Translator } from "../generation/translator.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { bleu } from "../metrics/bleu.ts";
import { chrf } from "../metrics/chrf.ts";
import { classification } from "../metrics/classification.ts";
import { errorRate, exactMatch } from "../metrics/edits.ts";
import { words } from "../metrics/ngrams.ts";
import { bits, bitsPerByte, perplexity } from "../metrics/perplexity.ts";
import type { OpenRun } from "../runs/folder.ts";
import type { Example, Pair } from "../text/examples.ts";
import { baked, type Precision, unrounded } from "../trained/baked.ts";
import { Scorer } from "../training/score.ts";
import { LabelScorer, likeliest, uselessWeights } from "./label-scorer.ts";
import { nearest, questionsOf } from "./references.ts";
import { cutTexts, unknownTokens } from "./warnings.ts";

// How good a trained model is, with the measures of its task.

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

export interface LabelMeasures {
  readonly accuracy: number;
  readonly f1: number;
  readonly confusion: readonly (readonly number[])[];
  /** Names of the rows and columns of the confusion. */
  readonly labels: readonly string[];
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

export type Measures = TextMeasures | ((LabelMeasures | TranslationMeasures) & LongerMeasures);

export interface EvaluateOptions extends TranslateOptions {
  readonly cache: string;
  /** Weights as they are (the default), or rounded. */
  readonly precision?: Precision;
  readonly threads?: number;
  readonly warn?: (sentence: string) => void;
}

export async function evaluate(run: OpenRun, weights: ParameterBuffer, data: HeldOut, options: EvaluateOptions): Promise<Measures> {
  for (const sentence of unrounded(run.config.model, options.precision)) options.warn?.(sentence);
  if (data.kind === "text") return evaluateText(run, weights, data, options);
  const measured = (examples: readonly Example[]) =>
    run.config.task === "translate"
      ? evaluateTranslation(run, weights, examples as Pair[], options)
      : evaluateLabels(run, weights, examples, options);
  const measures = await measured(data.examples);
  const longer: Record<string, number> = {};
  for (const [name, examples] of Object.entries(data.longer ?? {})) {
    const found = await measured(examples);
    if ("exact" in found) longer[`exact${name}`] = found.exact;
    else longer[`accuracy${name}`] = found.accuracy;
  }
  return { ...measures, ...longer };
}

type TextData = Extract<HeldOut, { kind: "text" }>;

async function evaluateText(
  { config, tokenizer }: OpenRun,
  weights: ParameterBuffer,
  { parts, sha256, apart }: TextData,
  options: EvaluateOptions,
): Promise<TextMeasures> {
  const texts: TokenisedText[] = [];
  for (const text of apart ? parts.map((part) => [part]) : [parts])
    texts.push(await tokenise(text, sha256, tokenizer, config.tokenizer.sha256, options.cache));
  warnUnknown(
    texts.reduce((total, { unknown }) => total + unknown, 0),
    options,
  );
  const { context } = config.model;
  const { threads, precision = "f32" } = options;
  const rounded = precision === "f32" ? undefined : baked(weights, precision);
  const scorer = new Scorer(config.model, { threads, ...rounded });
  try {
    const scoring = { batch: scoringRows(config.model), context, before: separator(tokenizer) ?? 0 };
    const windows = function* () {
      for (const { ids } of texts) yield* scoringWindows(ids, scoring);
    };
    const { loss, targets: tokens } = await scorer.score(windows(), rounded ? undefined : weights);
    if (!Number.isFinite(loss)) throw uselessWeights();
    const shares = { perplexity: perplexity(loss), bitsPerToken: bits(loss), bitsPerByte: bitsPerByte(loss * tokens, bytesOf(parts)) };
    return { loss, ...shares, tokens, examples: texts.reduce((total, { ids }) => total + Math.ceil(ids.length / context), 0) };
  } finally {
    for (const { ids } of texts) ids.close();
    await scorer.release();
  }
}

async function evaluateLabels(
  run: OpenRun,
  weights: ParameterBuffer,
  examples: readonly Example[],
  options: EvaluateOptions,
): Promise<LabelMeasures> {
  const { task, model, labels = [] } = run.config;
  const { encode, layout } = encoding(task as "classify" | "tag", run.tokenizer, labels);
  const whole = encode(examples);
  warnUnknown(countUnknown(whole, run.tokenizer), options);
  const encoded = shortened(whole, model.context, options) as readonly (LabelledIds | TaggedIds)[];
  const scorer = new LabelScorer(run, weights, options.threads);
  const [truth, predicted]: [number[], number[]] = [[], []];
  try {
    for await (const { place, scores } of scorer.score(encoded, layout)) {
      for (const [at, target] of targetsOf(encoded[place]).entries()) {
        if (target === ignored) continue;
        truth.push(target);
        predicted.push(likeliest(scores.subarray(at * labels.length, (at + 1) * labels.length)));
      }
    }
    return { ...classification(truth, predicted, labels.length), labels, examples: examples.length };
  } finally {
    await scorer.release();
  }
}

const targetsOf = (example: LabelledIds | TaggedIds): Int32Array => ("tags" in example ? example.tags : Int32Array.of(example.label));

async function evaluateTranslation(
  run: OpenRun,
  weights: ParameterBuffer,
  examples: readonly Pair[],
  options: EvaluateOptions,
): Promise<TranslationMeasures> {
  const { tokenizer } = run;
  const { model } = run.config;
  const whole = encodePairs(examples, tokenizer);
  warnUnknown(countUnknown(whole, tokenizer), options);
  const encoded = shortened(whole, model.context, options);
  const { start = 0, end = 0 } = tokenizer;
  const translator = new Translator(model, {
    start,
    end,
    forbidden: unwritten(tokenizer),
    threads: options.threads,
    ...baked(weights, options.precision),
  });
  const questions = questionsOf(examples);
  const sources = questions.map(({ place }) => encoded[place].source);
  const found = await translator.translate(sources, options).finally(() => translator.release());
  const targets = found.map(({ tokens }) => tokens);
  const hypotheses = targets.map((ids) => tokenizer.decode(ids));
  const references = questions.map((question, i) => nearest(hypotheses[i], question.references));
  const first = questions.map((question) => question.references[0]);
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

function warnUnknown(count: number, { warn }: EvaluateOptions): void {
  for (const sentence of unknownTokens(count)) warn?.(sentence);
}

function shortened<E extends object>(examples: readonly E[], context: number, { warn }: EvaluateOptions): readonly E[] {
  const { examples: shorter, count } = cut(examples, context);
  for (const sentence of cutTexts(count, examples.length, "examples", context)) warn?.(sentence);
  return shorter;
}
