import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { layernorm } from "./layernorm.ts";
import { letterCounting } from "./letter-counting.ts";
import { positions } from "./positions.ts";
import { pronounce } from "./pronounce.ts";
import { recurrence } from "./recurrence.ts";
import { reviews } from "./reviews.ts";
import type { Study } from "./study.ts";
import { toys } from "./toys.ts";
import { translate } from "./translate.ts";

export type { Results, RowResult } from "./results.ts";
export { runStudy, type StudyEvent, type StudyOptions, type StudyOutcome } from "./run.ts";
export type { MadeData, Measure, Measured, Row, Study } from "./study.ts";

export const studies: readonly Study[] = [letterCounting, reviews, translate, pronounce, recurrence, positions, layernorm, toys];

export function study(name: string): Study {
  const found = studies.find((one) => one.name === name);
  if (found) return found;
  const names = studies.map((one) => one.name);
  throw new ConfigError(`there is no study called "${name}"${suggest(name, names) || `; there are ${names.join(", ")}`}`, {
    code: "config.unknown-name",
  });
}
