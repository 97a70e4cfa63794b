import { countUnknown, cut, encodePairs } from "../batches/encode.ts";
import { type LabelledIds, scoringBatches, type TaggedIds } from "../batches/examples.ts";
import { scoringWindows } from "../batches/windows.ts";
import { Greedy, highest } from "../generation/greedy.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { bleu } from "../metrics/bleu.ts";
import { chrf } from "../metrics/chrf.ts";
import { classification } from "../metrics/classification.ts";
import { errorRate, exactMatch } from "../metrics/edits.ts";
import { words } from "../metrics/ngrams.ts";
import { bits, bitsPerByte, perplexity } from "../metrics/perplexity.ts";
import { modelLoss } from "../models/any.ts";
import { encoding } from "../runs/encoded.ts";
import type { OpenRun } from "../runs/folder.ts";
import { scoringRows } from "../runs/material.ts";
import { bytesOf } from "../runs/texts.ts";
import { separator, tokenise } from "../runs/tokenised.ts";
import { compile } from "../runtime/compile.ts";
import type { Example, Pair } from "../text/examples.ts";
import { Scorer } from "../training/score.ts";
import type { HeldOut } from "./held-out.ts";

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

export interface TranslationMeasures {
  readonly bleu: number;
  readonly chrf: number;
  readonly exact: number;
  readonly tokenErrorRate: number;
  readonly wordErrorRate: number;
  readonly examples: number;
}

export type Measures = TextMeasures | LabelMeasures | TranslationMeasures;

export interface EvaluateOptions {
  readonly cache: string;
  readonly threads?: number;
  readonly warn?: (sentence: string) => void;
}

const rowsAtOnce = 32;

export async function evaluate(run: OpenRun, weights: ParameterBuffer, data: HeldOut, options: EvaluateOptions): Promise<Measures> {
  if (data.kind === "text") return evaluateText(run, weights, data, options);
  return run.config.task === "translate"
    ? evaluateTranslation(run, weights, data.examples as Pair[], options)
    : evaluateLabels(run, weights, data.examples, options);
}

type TextData = Extract<HeldOut, { kind: "text" }>;

async function evaluateText(
  { config, tokenizer }: OpenRun,
  weights: ParameterBuffer,
  { parts, sha256 }: TextData,
  options: EvaluateOptions,
): Promise<TextMeasures> {
  const { ids, unknown } = await tokenise(parts, sha256, tokenizer, config.tokenizer.sha256, options.cache);
  warnUnknown(unknown, options);
  const { context } = config.model;
  const scorer = new Scorer(config.model, options);
  try {
    const windows = scoringWindows(ids, { batch: scoringRows(config.model), context, before: separator(tokenizer) ?? 0 });
    const { loss, targets: tokens } = await scorer.score(windows, weights);
    const shares = { perplexity: perplexity(loss), bitsPerToken: bits(loss), bitsPerByte: bitsPerByte(loss * tokens, bytesOf(parts)) };
    return { loss, ...shares, tokens, examples: Math.ceil(tokens / context) };
  } finally {
    ids.close();
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
  const scoring = compile(modelLoss(model, { training: false }), { outputs: ["scores"], threads: options.threads, symbols: "open" });
  const [truth, predicted]: [number[], number[]] = [[], []];
  try {
    for (const { feeds } of scoringBatches(encoded, layout, { batch: rowsAtOnce, shapes: "any" })) {
      const { scores } = await scoring.run(feeds, { weights });
      for (const [at, target] of (feeds.targets.data as Int32Array).entries()) {
        if (target < 0) continue;
        truth.push(target);
        predicted.push(highest((scores.data as Float32Array).subarray(at * labels.length, (at + 1) * labels.length)));
      }
    }
    return { ...classification(truth, predicted, labels.length), labels, examples: examples.length };
  } finally {
    await scoring.release();
  }
}

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
  const greedy = new Greedy(model, weights, { start: tokenizer.start ?? 0, end: tokenizer.end ?? 0, threads: options.threads });
  const targets: Int32Array[] = new Array(examples.length);
  const order = [...encoded.keys()].sort((a, b) => encoded[a].source.length - encoded[b].source.length || a - b);
  try {
    for (let first = 0; first < order.length; first += rowsAtOnce) {
      const members = order.slice(first, first + rowsAtOnce);
      const found = await greedy.translate(members.map((i) => encoded[i].source));
      for (const [row, i] of members.entries()) targets[i] = found[row];
    }
  } finally {
    await greedy.release();
  }
  const hypotheses = targets.map((ids) => tokenizer.decode(ids));
  const references = examples.map(({ target }) => target);
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
  };
}

function warnUnknown(count: number, { warn }: EvaluateOptions): void {
  if (count > 0) warn?.(`${count.toLocaleString("en")} tokens are not in the vocabulary and count as unknown`);
}

function shortened<E extends object>(examples: readonly E[], context: number, { warn }: EvaluateOptions): readonly E[] {
  const { examples: shorter, count } = cut(examples, context);
  if (count > 0) warn?.(`${count} of ${examples.length} examples are longer than the context of ${context} tokens and are cut`);
  return shorter;
}
