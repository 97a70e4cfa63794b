import { DataError } from "../base/errors.ts";
import type { Encoded } from "../data/encoded.ts";
import { type Material, materialOf } from "../data/material.ts";
import type { DataSource } from "../data/source.ts";
import { nodeDevice } from "../node/device.ts";
import { calibrate } from "./calibrate.ts";
import { drive, type RunEvent, type TrainOptions, type TrainResult } from "./drive.ts";
import { clearRun, lockRun, makeFolder, type OpenRun, openRun, refuseExisting, usualFolder, writeRun } from "./folder.ts";
import { prepare, type RunSettings } from "./prepare.ts";
import { type Changes, reopen } from "./resume.ts";

/** Trains a new run into a folder; without a name for it, the data and the task that it turns out to be for give one. */
export async function* trainRun(
  out: string | undefined,
  settings: RunSettings,
  { overwrite = false, ...options }: TrainOptions & { readonly overwrite?: boolean },
): AsyncGenerator<RunEvent, TrainResult> {
  if (!overwrite && out !== undefined) refuseExisting(out); // before hours of reading
  const { config, tokenizer, encoded, warnings } = await prepare(settings, options.cache);
  const material = named(config.data.source, () => materialOf(encoded, config, tokenizer));
  const folder = out ?? usualFolder(config.data.source, config.task);
  makeFolder(folder);
  const unlock = lockRun(folder);
  try {
    clearRun(folder, overwrite);
    writeRun(folder, config, tokenizer);
    for (const sentence of [...warnings, ...material.warnings]) yield { kind: "warning", sentence };
    return yield* driven({ folder, config, tokenizer }, encoded, material, options);
  } finally {
    material.close();
    unlock();
  }
}

/** Trains to the end, and then makes the probabilities true. */
async function* driven(run: OpenRun, encoded: Encoded, material: Material, options: TrainOptions): AsyncGenerator<RunEvent, TrainResult> {
  const result = yield* drive(run, material, options);
  if (result.ending === "interrupted") return result;
  const { threads } = run.config.training;
  const found = await calibrate(run, encoded, { ...(options.device ?? nodeDevice()), threads });
  if (found) yield { kind: "calibrated", ...found };
  return result;
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
  const unlock = lockRun(openRun(folder).folder);
  try {
    const { run, encoded } = await reopen(folder, changes, options.cache);
    const material = materialOf(encoded, run.config, run.tokenizer);
    try {
      return yield* driven(run, encoded, material, options);
    } finally {
      material.close();
    }
  } finally {
    unlock();
  }
}
