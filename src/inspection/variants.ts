import { array, type HostArray } from "../base/arrays.ts";
import { givesSeveral } from "../models/any.ts";
import type { TrainedModel } from "../trained/trained.ts";

// One text in many variants at once: the same ids in each row, and the answer to each.

/** The same ids in each row. */
export const repeated = ({ shape: [, ...shape], data }: HostArray, rows: number): HostArray =>
  array(
    "int32",
    Int32Array.from({ length: rows * data.length }, (_, i) => Number(data[i % data.length])),
    [rows, ...shape],
  );

/** The probability of one answer in each row of scores [batch, …, label]. */
export function probabilityIn(
  { model, temperature }: TrainedModel,
  { shape, data }: HostArray,
  rows: number,
  at: number,
  answer: number,
): number[] {
  const labels = shape[shape.length - 1];
  const positions = shape.length === 3 ? shape[1] : 1;
  return Array.from({ length: rows }, (_, i) => {
    const start = (i * positions + (shape.length === 3 ? at : 0)) * labels;
    const scores = Array.from({ length: labels }, (_, j) => Number(data[start + j]) / temperature);
    if (givesSeveral(model)) return 1 / (1 + Math.exp(-scores[answer]));
    const most = Math.max(...scores);
    return Math.exp(scores[answer] - most) / scores.reduce((sum, score) => sum + Math.exp(score - most), 0);
  });
}
