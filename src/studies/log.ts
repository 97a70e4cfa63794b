import { FormatError } from "../base/errors.ts";
import { paths } from "../runs/folder.ts";
import { readIfThere } from "./files.ts";

export interface Totals {
  readonly steps: number;
  /** Of the steps alone, without validations and saves. */
  readonly seconds: number;
  readonly tokens: number;
}

/** What a run's steps took in all. A run that was killed and went on has a log without gaps, so its log knows best. */
export async function totalsOf(folder: string): Promise<Totals> {
  const file = paths(folder).log;
  let [steps, seconds, tokens] = [0, 0, 0];
  for (const line of ((await readIfThere(file)) ?? "").split("\n")) {
    const report = parsed(line, file);
    if (typeof report?.tokens !== "number" || typeof report.seconds !== "number") continue; // a validation
    steps++;
    seconds += report.seconds;
    tokens += report.tokens;
  }
  return { steps, seconds, tokens };
}

function parsed(line: string, file: string): Readonly<Record<string, unknown>> | undefined {
  if (line === "") return undefined;
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new FormatError(`${file}: a line is not JSON; remove the run's folder to train it again`, { cause });
  }
}
