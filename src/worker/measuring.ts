import { ConfigError } from "../base/errors.ts";
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

export async function examplesOf(_: Extract<Job, { kind: "examples" }>, __: IntakeOptions): Promise<JobAnswers["examples"]> {
  throw new ConfigError("examples cannot be asked for yet");
}
