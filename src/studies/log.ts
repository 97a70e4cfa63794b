import { paths } from "../runs/folder.ts";
import { readLog } from "../runs/log.ts";

export interface Totals {
  readonly steps: number;
  /** Of the steps alone, without validations and saves. */
  readonly seconds: number;
  readonly tokens: number;
}

/** What a run's steps took in all. A run that was killed and went on has a log without gaps, so its log knows best. */
export function totalsOf(folder: string): Totals {
  let [steps, seconds, tokens] = [0, 0, 0];
  for (const report of readLog(paths(folder).log)) {
    if (typeof report.tokens !== "number" || typeof report.seconds !== "number") continue; // a validation
    steps++;
    seconds += report.seconds;
    tokens += report.tokens;
  }
  return { steps, seconds, tokens };
}
