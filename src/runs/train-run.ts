import { DataError } from "../base/errors.ts";
import { type Material, materialOf } from "../data/material.ts";
import type { DataSource } from "../data/source.ts";
import { drive, type RunEvent, type TrainOptions, type TrainResult } from "./drive.ts";
import { clearRun, lockRun, makeFolder, openRun, refuseExisting, usualFolder, writeRun } from "./folder.ts";
import { prepare, type RunSettings } from "./prepare.ts";
import { type Changes, reopen } from "./resume.ts";

/** Trains a new run into a folder; without a name for it, the data and the task that it turns out to be for give one. */
export async function* trainRun(
  out: string | undefined,
  settings: RunSettings,
  { overwrite = false, ...options }: TrainOptions & { readonly overwrite?: boolean },
): AsyncGenerator<RunEvent, TrainResult> {
  options.signal?.throwIfAborted();
  if (!overwrite && out !== undefined) refuseExisting(out); // before hours of reading
  const { config, tokenizer, encoded, warnings } = await prepare(settings, options);
  const material = named(config.data.source, () => materialOf(encoded, config, tokenizer));
  const folder = out ?? usualFolder(config.data.source, config.task);
  makeFolder(folder);
  const unlock = lockRun(folder);
  try {
    clearRun(folder, overwrite);
    writeRun(folder, config, tokenizer);
    for (const sentence of [...warnings, ...material.warnings]) yield { kind: "warning", sentence };
    return yield* drive({ folder, config, tokenizer }, material, options);
  } finally {
    material.close();
    unlock();
  }
}

/** What is wrong with all of the data is said with its file. */
function named(source: DataSource, make: () => Material): Material {
  try {
    return make();
  } catch (error) {
    if (error instanceof DataError && source.kind === "files")
      throw new DataError(error.complaint, { file: source.files.join(", "), ...error.facts, cause: error });
    throw error;
  }
}

/** Goes on with a run exactly where its latest checkpoint is. */
export async function* resumeRun(folder: string, changes: Changes, options: TrainOptions): AsyncGenerator<RunEvent, TrainResult> {
  options.signal?.throwIfAborted();
  const unlock = lockRun(openRun(folder).folder);
  try {
    const { run, encoded } = await reopen(folder, changes, options);
    const material = materialOf(encoded, run.config, run.tokenizer);
    try {
      return yield* drive(run, material, options);
    } finally {
      material.close();
    }
  } finally {
    unlock();
  }
}
