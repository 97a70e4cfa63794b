import { DataError } from "../base/errors.ts";
import { checkPairs } from "./ngrams.ts";

export interface Classification {
  /** The share of right answers. */
  readonly accuracy: number;
  /** The mean of the F1 of every label that occurs, in the truth or in the prediction. */
  readonly f1: number;
  /** How often the label of the row was taken for the label of the column. */
  readonly confusion: number[][];
}

/** How well labels, as numbers from 0 to labels - 1, were foretold. */
export function classification(truth: readonly number[], predicted: readonly number[], labels: number): Classification {
  checkPairs(predicted, truth);
  const confusion = Array.from({ length: labels }, () => new Array<number>(labels).fill(0));
  for (const [i, label] of truth.entries()) confusion[knownLabel(label, labels)][knownLabel(predicted[i], labels)]++;
  const everyLabel = confusion.map((_, label) => label);
  const right = everyLabel.reduce((total, label) => total + confusion[label][label], 0);
  const scores = everyLabel.map((label) => f1Of(label, confusion)).filter((score) => score !== undefined);
  return { accuracy: right / truth.length, f1: scores.reduce((a, b) => a + b) / scores.length, confusion };
}

/** F1 = 2 right / (times true + times predicted); nothing for a label that never occurs. */
function f1Of(label: number, confusion: readonly (readonly number[])[]): number | undefined {
  const wasTrue = confusion[label].reduce((a, b) => a + b);
  const wasPredicted = confusion.reduce((total, row) => total + row[label], 0);
  return wasTrue + wasPredicted === 0 ? undefined : (2 * confusion[label][label]) / (wasTrue + wasPredicted);
}

function knownLabel(label: number, labels: number): number {
  if (Number.isInteger(label) && label >= 0 && label < labels) return label;
  throw new DataError(`${label} is no label; labels are whole numbers from 0 to ${labels - 1}`);
}
