import { FormatError } from "../base/errors.ts";
import { call, sentence } from "../base/sentence.ts";
import type { LossSeries } from "../pictures/loss-curves.ts";
import { openRun, paths } from "../runs/folder.ts";
import { readLog } from "../runs/log.ts";

/** The losses in a run's log, by step; a loss that was no number is NaN. */
export function readLosses(folder: string): LossSeries[] {
  openRun(folder); // a folder that is no run gets its own sentence
  const file = paths(folder).log;
  const lines = readLog(file);
  const series = (name: string, key: string): LossSeries => ({
    name,
    points: lines.flatMap((line) => (key in line ? [{ step: numberOf(line.step), loss: numberOf(line[key]) }] : [])),
  });
  const found = [series("training", "loss"), series("validation", "validLoss")].filter(({ points }) => points.length > 0);
  if (found.length === 0) throw new FormatError(sentence`${file} has no losses yet; train for a step or more: ${call("resume", folder)}`);
  return found;
}

/** JSON has no NaN: it is written as null. */
const numberOf = (value: unknown): number => (typeof value === "number" ? value : Number.NaN);
