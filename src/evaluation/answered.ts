import { ConfigError } from "../base/errors.ts";
import { chrf } from "../metrics/chrf.ts";
import type { Classified, Example, Pair, SeveralLabelled, Tagged } from "../text/examples.ts";
import type { Warned } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { EvaluationData } from "./evaluate.ts";
import { classifyTexts, type PredictOptions, tagTexts } from "./predict.ts";
import { nearest, questionsOf } from "./references.ts";
import { translateTexts } from "./translate.ts";

// Examples one by one, with what a model says of them: what stands behind a measure, or in a cell of a confusion matrix.

export interface ExampleRow {
  readonly text: string;
  /** The label; of several labels all of them, with commas; of tags all of them, with spaces; of a translation the (nearest) reference. */
  readonly wanted: string;
  readonly said: string;
  /** Of what it said; not known of tags and of several labels. */
  readonly probability: number | null;
  readonly correct: boolean;
  /** Of a translation: chrF, from 0 to 100. Of tags: the share that is right. */
  readonly score?: number;
}

export interface AnsweredOptions extends Warned {
  readonly signal?: AbortSignal;
  /** How many at most, evenly from all; all if left out. */
  readonly most?: number | undefined;
}

/** The examples in their order; each source of a translator once. */
export async function answered(
  trained: TrainedModel,
  data: EvaluationData,
  { most = Number.POSITIVE_INFINITY, ...options }: AnsweredOptions = {},
): Promise<{ readonly rows: ExampleRow[]; readonly all: number }> {
  if (data.kind === "text" || trained.task === "lm" || trained.task === "mlm")
    throw new ConfigError(`${trained.name} was trained on text, which has no answers to compare; it is measured by its loss`, {
      code: "config.task",
    });
  if (trained.task === "translate") {
    const questions = questionsOf(data.examples as Pair[]);
    const chosen = evenly(questions, most);
    const sources = chosen.map(({ place }) => (data.examples[place] as Pair).source);
    return { rows: await translated(trained, sources, chosen, options), all: questions.length };
  }
  const examples = evenly(data.examples, most);
  const rows = trained.task === "tag" ? tagged(trained, examples as Tagged[], options) : labelled(trained, examples, options);
  return { rows: await rows, all: data.examples.length };
}

const evenly = <T>(list: readonly T[], most: number): readonly T[] =>
  list.length <= most ? list : Array.from({ length: most }, (_, i) => list[Math.floor((i * list.length) / most)]);

async function translated(
  trained: TrainedModel,
  sources: readonly string[],
  questions: readonly { readonly references: readonly string[] }[],
  options: PredictOptions,
): Promise<ExampleRow[]> {
  const rows: ExampleRow[] = [];
  for await (const { source, target, logProbability } of translateTexts(trained, sources, options)) {
    const wanted = nearest(target, questions[rows.length].references);
    const score = chrf([target], [wanted]);
    rows.push({ text: source, wanted, said: target, probability: Math.exp(logProbability), correct: target === wanted, score });
  }
  return rows;
}

async function tagged(trained: TrainedModel, examples: readonly Tagged[], options: PredictOptions): Promise<ExampleRow[]> {
  const rows: ExampleRow[] = [];
  const texts = examples.map(({ text }) => text);
  for await (const { text, tags } of tagTexts(trained, texts, options)) {
    const { tags: wanted } = examples[rows.length];
    const right = wanted.filter((tag, i) => tags[i] === tag).length;
    const [correct, score] = [right === wanted.length, right / Math.max(1, wanted.length)];
    rows.push({ text, wanted: wanted.join(" "), said: tags.join(" "), probability: null, correct, score });
  }
  return rows;
}

async function labelled(trained: TrainedModel, examples: readonly Example[], options: PredictOptions): Promise<ExampleRow[]> {
  const rows: ExampleRow[] = [];
  const known = examples as (Classified | SeveralLabelled)[];
  const texts = known.map(({ text }) => text);
  for await (const { text, label, labels, probabilities } of classifyTexts(trained, texts, options)) {
    const example = known[rows.length];
    const wanted = "labels" in example ? listed(example.labels) : example.label;
    const said = labels ? listed(labels) : label;
    rows.push({ text, wanted, said, probability: labels ? null : probabilities[label], correct: wanted === said });
  }
  return rows;
}

const listed = (labels: readonly string[]): string => [...labels].sort().join(", ");
