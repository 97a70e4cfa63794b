import { ignored } from "../batches/batch.ts";
import type { ExampleIds } from "../batches/encode.ts";
import type { LabelledIds, Layout, SeveralIds, TaggedIds } from "../batches/examples.ts";
import { type Claim, calibrationError, type Scored, separateShares, shares } from "../metrics/calibration.ts";
import { type ClassScores, classification, type Scores } from "../metrics/classification.ts";
import { severalClassification } from "../metrics/several.ts";
import { marksSpans, type SpanScores, spanScores } from "../metrics/spans.ts";
import { givesSeveral } from "../models/any.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { allFound, alone, type Group } from "../training/group.ts";
import { labelScores, likeliest, requireFinite } from "./labels.ts";

// How good a classifier or a tagger is, label by label.

interface EveryLabel {
  readonly accuracy: number;
  /** The mean over the labels that occur. */
  readonly f1: number;
  /** Of every label: precision, recall, F1, and how often it is there. */
  readonly classes: readonly (ClassScores & { readonly label: string })[];
  readonly macro: Scores;
  readonly weighted: Scores;
  /** Expected calibration error, in 15 bins: how far from the truth the model's probabilities are, 0–1. */
  readonly ece: number;
  /** What scores are divided by before they become probabilities, where that is not 1. */
  readonly temperature?: number;
  /** Names of the classes, in the order of the confusion. */
  readonly labels: readonly string[];
  readonly examples: number;
}

export interface LabelMeasures extends EveryLabel {
  /** How often the label of the row was taken for the label of the column. */
  readonly confusion: readonly (readonly number[])[];
  /** Of spans (B-, I-, O) that were found with both ends and their type; where tags mark spans. */
  readonly spanF1?: number;
  readonly spanPrecision?: number;
  readonly spanRecall?: number;
  readonly spans?: SpanScores["types"];
}

/** Of a model whose texts have several labels; a label is given where its probability is at least 0.5. */
export interface SeveralMeasures extends EveryLabel {
  /** Of each label: [[neither there nor found, only found], [only there, there and found]]. */
  readonly confusion: readonly (readonly (readonly number[])[])[];
  readonly microF1: number;
  readonly micro: Scores;
}

/** From which score on a label is given: the one of which the probability is 0.5, whatever the temperature. */
export const given = (score: number): boolean => score >= 0;

type LabelIds = LabelledIds | SeveralIds | TaggedIds;

/** What a model says of every text, or of every token that has a tag, beside the truth. */
export async function* labelAnswers(
  trained: TrainedModel,
  examples: readonly LabelIds[],
  layout: Layout<ExampleIds>,
  signal?: AbortSignal,
  group?: Group,
): AsyncGenerator<{ readonly place: number; readonly answers: readonly Scored[] }> {
  const count = trained.labels.length;
  for await (const { place, scores } of labelScores(trained, examples, layout, signal, undefined, group)) {
    const example = examples[place];
    const rows = [...truthsOf(example).entries()].filter(([, truth]) => truth !== ignored);
    const answers = rows.map(([at, truth]) => ({ scores: requireFinite(scores.subarray(at * count, (at + 1) * count)), truth }));
    yield { place, answers };
  }
}

function truthsOf(example: LabelIds): readonly Scored["truth"][] {
  if ("there" in example) return [example.there];
  return "tags" in example ? [...example.tags] : [example.label];
}

/** What is kept of an answer when its scores are gone. */
interface Judged {
  readonly truth: Scored["truth"];
  /** The likeliest label; or 1 and 0 for each. */
  readonly found: number | readonly number[];
  readonly claims: readonly Claim[];
}

/** Of each example: one, or one for each tag. */
type JudgedRows = readonly (readonly Judged[])[];

/** Of labels that exclude each other, the likeliest one is claimed; of others, each with its own probability. */
export function judged({ scores, truth }: Scored, temperature: number): Judged {
  if (typeof truth !== "number") {
    const claims = separateShares(scores, temperature).map((confidence, i) => ({ confidence, right: truth[i] === 1 }));
    return { truth: Array.from(truth), found: Array.from(scores, (score) => (given(score) ? 1 : 0)), claims };
  }
  const found = likeliest(Float32Array.from(scores));
  return { truth, found, claims: [{ confidence: shares(scores, temperature)[found], right: found === truth }] };
}

/** The answers to all examples, in their order. */
export async function judgedRows(
  trained: TrainedModel,
  examples: readonly LabelIds[],
  layout: Layout<ExampleIds>,
  signal?: AbortSignal,
  group = alone,
): Promise<JudgedRows> {
  const rows = new Map<number, readonly Judged[]>();
  for await (const { place, answers } of labelAnswers(trained, examples, layout, signal, group))
    rows.set(
      place,
      answers.map((answer) => judged(answer, trained.temperature)),
    );
  return allFound(group, rows);
}

/** The measures of answers. */
export function labelMeasures({ labels, model, task, temperature }: TrainedModel, rows: JudgedRows): LabelMeasures | SeveralMeasures {
  const all = rows.flat();
  const several = givesSeveral(model);
  const { classes, ...measures } = several ? ofSeveral(all, labels.length) : ofOne(all, labels.length);
  return {
    ...measures,
    labels,
    classes: classes.map((scores, i) => ({ label: labels[i], ...scores })),
    ece: calibrationError(all.flatMap(({ claims }) => claims)),
    ...(temperature !== 1 && { temperature }),
    ...(task === "tag" && marksSpans(labels) && ofSpans(rows, labels)),
    examples: rows.length,
  };
}

const ofOne = (answers: readonly Judged[], labels: number) =>
  classification(
    answers.map(({ truth }) => Number(truth)),
    answers.map(({ found }) => Number(found)),
    labels,
  );

function ofSeveral(answers: readonly Judged[], labels: number) {
  const measures = severalClassification(
    answers.map(({ truth }) => truth as ArrayLike<number>),
    answers.map(({ found }) => found as readonly number[]),
    labels,
  );
  return { ...measures, microF1: measures.micro.f1 };
}

function ofSpans(rows: JudgedRows, labels: readonly string[]) {
  const { micro, types } = spanScores(
    rows.map((row) => row.map(({ truth }) => labels[Number(truth)])),
    rows.map((row) => row.map(({ found }) => labels[Number(found)])),
  );
  return { spanF1: micro.f1, spanPrecision: micro.precision, spanRecall: micro.recall, spans: types };
}
