import { DataError } from "../base/errors.ts";
import { type ClassScores, type Counts, macroOf, type Scores, scoresOf, weightedOf } from "./classification.ts";
import { checkPairs } from "./ngrams.ts";

/** How well texts with any number of labels each were classified. */
export interface SeveralClassification {
  /** The share of texts of which every label is right (subset accuracy). */
  readonly accuracy: number;
  /** The mean of the F1 of every label that occurs. */
  readonly f1: number;
  /** Of each label: [[not there and not found, not there but found], [there but not found, there and found]]. */
  readonly confusion: readonly (readonly (readonly number[])[])[];
  readonly classes: readonly ClassScores[];
  /** Of all answers about all labels together. */
  readonly micro: Scores;
  readonly macro: Scores;
  readonly weighted: Scores;
}

/** Truth and prediction have a row for each text and in it 1 or 0 for each label. */
export function severalClassification(
  truth: readonly ArrayLike<number>[],
  predicted: readonly ArrayLike<number>[],
  labels: number,
): SeveralClassification {
  checkPairs(predicted, truth);
  const confusion = Array.from({ length: labels }, () => [
    [0, 0],
    [0, 0],
  ]);
  let exact = 0;
  for (const [i, row] of truth.entries()) {
    if (row.length !== labels || predicted[i].length !== labels)
      throw new DataError(`row ${i} has ${row.length} and ${predicted[i].length} numbers; wanted one for each of ${labels} labels`);
    let same = true;
    for (let label = 0; label < labels; label++) {
      const [there, found] = [row[label] ? 1 : 0, predicted[i][label] ? 1 : 0];
      confusion[label][there][found]++;
      same &&= there === found;
    }
    if (same) exact++;
  }
  const counts: Counts[] = confusion.map(([[, wrong], [missed, right]]) => ({ true: missed + right, predicted: wrong + right, right }));
  const sum = (name: keyof Counts) => counts.reduce((total, count) => total + count[name], 0);
  const { support: _, ...micro } = scoresOf({ true: sum("true"), predicted: sum("predicted"), right: sum("right") });
  const macro = macroOf(counts);
  return {
    accuracy: exact / truth.length,
    f1: macro.f1,
    confusion,
    classes: counts.map(scoresOf),
    micro,
    macro,
    weighted: weightedOf(counts),
  };
}
