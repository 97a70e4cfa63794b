import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DataError, RunError } from "../base/errors.ts";
import { atOnce } from "../base/turns.ts";
import type { Encoded } from "../data/encoded.ts";
import { type Material, materialOf } from "../data/material.ts";
import type { DataSource } from "../data/source.ts";
import { Checkpoints } from "../disk/checkpoints.ts";
import { removeEmpty, removeQuietly } from "../disk/files.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { deviceOf } from "../node/devices.ts";
import { saveTokenizer } from "../tokens/index.ts";
import type { Progress } from "../training/fit.ts";
import { alone, type Group } from "../training/group.ts";
import { calibrate } from "./calibrate.ts";
import { type RunConfig, runConfigText } from "./config.ts";
import { type Beginning, drive, type RunEvent, type TrainOptions, type TrainResult } from "./drive.ts";
import {
  clearRun,
  deadAfter,
  heldBy,
  lockRun,
  makeFolder,
  type OpenRun,
  openRun,
  paths,
  refuseExisting,
  refuseTaken,
  usualFolder,
  writeRun,
} from "./folder.ts";
import { refuseItself } from "./parent.ts";
import { prepare, type RunSettings, readFor } from "./prepare.ts";
import { type Changes, reopen } from "./resume.ts";
import { writingModel } from "./saver.ts";
import { startFiles } from "./state.ts";
import { withinMinutes } from "./within-minutes.ts";

/** Trains a new run into a folder; without a name for it, the data and the task that it turns out to be for give one. */
export async function* trainRun(
  out: string | undefined,
  given: RunSettings,
  { overwrite = false, ...options }: TrainOptions & { readonly overwrite?: boolean },
): AsyncGenerator<RunEvent, TrainResult> {
  options.signal?.throwIfAborted();
  const { group = alone } = options;
  if (!group.leads) return yield* follow(group, options);
  const settings = dividable(given, options);
  if (!overwrite && out !== undefined) refuseExisting(out); // before hours of reading
  if (settings.from && out !== undefined) refuseItself(settings.from, out);
  const began = options.began ?? options.clock();
  const read = await readFor(settings, options);
  options.signal?.throwIfAborted(); // while there is no run yet
  const materialFor = (of: RunConfig) => named(of.data.source, () => materialOf(read.encoded, of, read.tokenizer));
  const { settings: asked, chosen } = await withinMinutes(settings, read, { ...options, began, materialFor });
  const { config, tokenizer, encoded, warnings, start } = prepare(asked, read);
  const material = materialFor(config);
  let taken: Taken | undefined;
  try {
    const folder = out ?? usualFolder(config.data.source, config.task);
    if (settings.from) refuseItself(settings.from, folder);
    const own = await takeFolder(folder, group);
    taken = own;
    refuseTaken(folder, overwrite);
    for (const said of [...warnings, ...material.warnings])
      yield { kind: "warning", sentence: typeof said === "string" ? said : said.in(options.words) };
    if (chosen) yield chosen;
    await lead(group, { folder, config, tokenizer });
    const place = (progress: Progress) => {
      clearRun(folder, overwrite);
      own.keep(() => writeRun(folder, config, tokenizer, () => start && saveStart(folder, config, start, progress)));
    };
    return yield* driven({ folder, config, tokenizer }, encoded, material, options, { start, place });
  } finally {
    material.close();
    taken?.release();
  }
}

/** Muon moves whole matrices, so where an optimizer is divided among ranks it is not the usual one. */
const dividable = (settings: RunSettings, { shardOptimizer = false }: TrainOptions): RunSettings =>
  shardOptimizer ? { ...settings, training: { optimizer: "adamw", ...settings.training } } : settings;

interface Taken {
  /** Makes it a run by writing it down. */
  keep(write: () => void): void;
  release(): void;
}

/** A folder that is this process's, to train in. What was made for a run that did not begin goes again, also when the process is ended. */
async function takeFolder(folder: string, group: Group): Promise<Taken> {
  const made = makeFolder(folder);
  let unlock = () => {};
  let kept = false;
  const release = () => {
    process.off("exit", release);
    unlock();
    if (!kept) removeEmpty(made);
  };
  process.once("exit", release);
  try {
    unlock = await lockOf(folder, group);
  } catch (error) {
    release();
    throw error;
  }
  return {
    keep(write) {
      try {
        write();
        kept = true;
      } catch (error) {
        for (const path of [paths(folder).checkpoints, paths(folder).tokenizer, paths(folder).model, paths(folder).adapter])
          removeQuietly(path); // half a run is none
        throw error;
      }
    },
    release,
  };
}

/** What a run begins with that does not come from its seed: its first checkpoint, and the file to ship until others are better. */
function saveStart(folder: string, config: RunConfig, start: ParameterBuffer, progress: Progress): void {
  new Checkpoints(paths(folder).checkpoints).save(0, startFiles(start));
  atOnce(writingModel(folder, config, 0, start, progress.bestLoss, config.training.evalTokens));
}

/** Trains to the end, and then makes the probabilities true. */
async function* driven(
  run: OpenRun,
  encoded: Encoded,
  material: Material,
  options: TrainOptions,
  beginning?: Beginning,
): AsyncGenerator<RunEvent, TrainResult> {
  const result = yield* drive(run, material, options, beginning);
  if (result.ending === "interrupted" || !(options.group ?? alone).leads) return result;
  const { threads, device } = run.config.training;
  const found = await calibrate(run, encoded, { ...deviceOf(options.device ?? device), threads });
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
  options.signal?.throwIfAborted();
  const { group = alone } = options;
  if (!group.leads) return yield* follow(group, options);
  const unlock = await lockOf(openRun(folder, options.models).folder, group);
  try {
    const { run, encoded } = await reopen(folder, changes, options);
    const material = materialOf(encoded, run.config, run.tokenizer);
    try {
      await lead(group, run);
      return yield* driven(run, encoded, material, options);
    } finally {
      material.close();
    }
  } finally {
    unlock();
  }
}

/** Milliseconds that ranks which were ended may still need to let go of their run. */
const lastMoments = 10_000;

/** The lock of a run. Whoever comes again just after a group was ended waits for its last moments, and one of a group until a host counts as gone. */
async function lockOf(folder: string, { size }: Group): Promise<() => void> {
  const { elsewhere, ranks } = heldBy(folder);
  const until = performance.now() + (size > 1 && elsewhere ? deadAfter + lastMoments : size > 1 || ranks > 1 ? lastMoments : 0);
  for (;;) {
    try {
      return lockRun(folder, size);
    } catch (error) {
      if (!(error instanceof RunError) || error.code !== "run.busy" || performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

/** Rank 0 tells the others what run this is: they need no folder, only the data. */
async function lead(group: Group, { config, tokenizer }: OpenRun): Promise<void> {
  if (group.size > 1) await group.told(JSON.stringify([runConfigText(config), saveTokenizer(tokenizer)]));
}

/** Another rank than 0: it opens the run as it was told, checks that it has the same data, and trains along. Nothing is written but a folder that goes again. */
async function* follow(group: Group, options: TrainOptions): AsyncGenerator<RunEvent, TrainResult> {
  const [config, tokenizer] = JSON.parse(await group.told("")) as [string, string];
  const folder = mkdtempSync(join(tmpdir(), "qkv-rank-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  try {
    writeFileSync(paths(folder).config, config);
    writeFileSync(paths(folder).tokenizer, tokenizer);
    const { run, encoded } = await reopen(folder, {}, options);
    const material = materialOf(encoded, run.config, run.tokenizer);
    try {
      return yield* drive(run, material, options);
    } finally {
      material.close();
    }
  } finally {
    remove();
    process.off("exit", remove);
  }
}
