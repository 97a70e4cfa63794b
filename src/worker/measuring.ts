import { ConfigError } from "../base/errors.ts";
import { ownData, ownPassage } from "../data/held-out.ts";
import { answered } from "../evaluation/answered.ts";
import { Trained } from "../library/trained.ts";
import { type IntakeOptions, stored } from "./intake.ts";
import type { Job, JobAnswers } from "./messages.ts";
import { outsideRun } from "./opening-outside.ts";

/** The measures of a run's task, on files or on what was held out of its own data. */
export async function measured(
  { run, data, precision, adapter, step }: Extract<Job, { kind: "evaluate" }>,
  intake: IntakeOptions,
): Promise<JobAnswers["evaluate"]> {
  const warnings: string[] = [];
  const files: string[] = [];
  for (const one of data) files.push(await stored(one, intake));
  await using trained = new Trained(outsideRun(run, { adapter, step }), {
    warn: (sentence) => void warnings.push(sentence),
    ...(precision !== undefined && { precision }),
  });
  return { measures: await trained.evaluate(files, { cache: intake.home.cache, signal: intake.signal }), warnings };
}

/** What was held out of a run's data, with its answers. */
export async function examplesOf(
  { run, most, precision, adapter, step }: Extract<Job, { kind: "examples" }>,
  { home, signal }: IntakeOptions,
): Promise<JobAnswers["examples"]> {
  if (most !== undefined && !(Number.isSafeInteger(most) && most >= 1))
    throw new ConfigError(`most: a whole number from 1 on is wanted, not ${JSON.stringify(most)}`, { code: "config.range", path: "most" });
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(sentence);
  await using trained = new Trained(outsideRun(run, { adapter, step }), { warn, ...(precision !== undefined && { precision }) });
  const { data, close } = await ownData(trained.run, home.cache, warn, { signal });
  try {
    const { rows, all } = await answered(trained, data, { most, signal });
    return { task: trained.task, labels: trained.labels, rows, all, warnings };
  } finally {
    close();
  }
}

/** A few words of what was held out of a run's data: what a model can be shown, since it is of the kind that it learned. */
export const passageOf = ({ run }: Extract<Job, { kind: "passage" }>, { signal }: IntakeOptions): Promise<JobAnswers["passage"]> =>
  ownPassage(outsideRun(run, {}), { signal });
