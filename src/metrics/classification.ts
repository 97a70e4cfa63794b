import { DataError } from "../base/errors.ts";
import { checkPairs } from "./ngrams.ts";

/** How well one label, or one kind of span, was found. What would be divided by nothing is 0, as scikit-learn has it. */
export interface Scores {
  /** Of those that were found, the share that is right. */
  readonly precision: number;
  /** Of those that are there, the share that was found. */
  readonly recall: number;
  /** The harmonic mean of both: 2 right / (times true + times predicted). */
  readonly f1: number;
}

export interface ClassScores extends Scores {
  /** How many there are. */
  readonly support: number;
}

/** How often something is there, was found, and both. */
export interface Counts {
  readonly true: number;
  readonly predicted: number;
  readonly right: number;
}

export const scoresOf = ({ true: there, predicted, right }: Counts): ClassScores => ({
  precision: right / Math.max(1, predicted),
  recall: right / Math.max(1, there),
  f1: (2 * right) / Math.max(1, there + predicted),
  support: there,
});

/** The mean over all that occur, in the truth or in the prediction. */
export const macroOf = (counts: readonly Counts[]): Scores =>
  weightedMean(counts, ({ true: there, predicted }) => (there + predicted > 0 ? 1 : 0));

/** The mean in which each counts as often as it is there. */
export const weightedOf = (counts: readonly Counts[]): Scores => weightedMean(counts, (count) => count.true);

function weightedMean(counts: readonly Counts[], weightOf: (count: Counts) => number): Scores {
  const total = counts.reduce((sum, count) => sum + weightOf(count), 0);
  const mean = (name: keyof Scores) =>
    total === 0 ? 0 : counts.reduce((sum, count) => sum + weightOf(count) * scoresOf(count)[name], 0) / total;
  return { precision: mean("precision"), recall: mean("recall"), f1: mean("f1") };
}

export interface Classification {
  /** The share of right answers. */
  readonly accuracy: number;
  /** The mean of the F1 of every label that occurs, in the truth or in the prediction. */
  readonly f1: number;
  /** How often the label of the row was taken for the label of the column. */
  readonly confusion: number[][];
  /** Of every label, in their order. */
  readonly classes: readonly ClassScores[];
  /** Means over the labels that occur, each counting once, or as often as it is there. */
  readonly macro: Scores;
  readonly weighted: Scores;
}

/** How well labels, as numbers from 0 to labels - 1, were foretold. */
export function classification(truth: readonly number[], predicted: readonly number[], labels: number): Classification {
  checkPairs(predicted, truth);
  const confusion = Array.from({ length: labels }, () => new Array<number>(labels).fill(0));
  for (const [i, label] of truth.entries()) confusion[knownLabel(label, labels)][knownLabel(predicted[i], labels)]++;
  const found = new Array<number>(labels).fill(0);
  for (const row of confusion) for (const [label, times] of row.entries()) found[label] += times;
  const counts = confusion.map((row, label) => ({
    true: row.reduce((a, b) => a + b, 0),
    predicted: found[label],
    right: row[label],
  }));
  const right = counts.reduce((total, count) => total + count.right, 0);
  const macro = macroOf(counts);
  return {
    accuracy: right / truth.length,
    f1: macro.f1,
    confusion,
    classes: counts.map(scoresOf),
    macro,
    weighted: weightedOf(counts),
  };
}

function knownLabel(label: number, labels: number): number {
  if (Number.isInteger(label) && label >= 0 && label < labels) return label;
  throw new DataError(`${label} is no label; labels are whole numbers from 0 to ${labels - 1}`);
}
