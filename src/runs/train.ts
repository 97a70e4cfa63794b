import { chance } from "../base/chance.ts";
import { NonFiniteError, RunError } from "../base/errors.ts";
import { modelLoss, takesAnyLength } from "../models/any.ts";
import { parametersOf } from "../runtime/compile.ts";
import { Checkpoints, type CheckpointsOptions } from "../training/checkpoints.ts";
import { fit, noProgress, type Report } from "../training/fit.ts";
import { optimizer as makeOptimizer } from "../training/optimizers.ts";
import { learningRate } from "../training/schedule.ts";
import { Scorer } from "../training/score.ts";
import { initialise } from "../weights/initialise.ts";
import type { RunConfig, Task } from "./config.ts";
import { lockRun, makeRunFolder, type OpenRun, openRun, paths, refuseExisting, writeRun } from "./folder.ts";
import { Log } from "./log.ts";
import { type Material, materialOf } from "./material.ts";
import { prepare, type RunSettings } from "./prepare.ts";
import { type Changes, reopen } from "./resume.ts";
import { Saver } from "./saver.ts";
import { restore } from "./state.ts";

/** What training tells whoever listens. */
export type RunEvent =
  | Report
  | {
      readonly kind: "ready";
      readonly folder: string;
      readonly config: RunConfig;
      readonly parameters: number;
      readonly padding: number;
      readonly step: number;
      readonly perEpoch: number;
    }
  | { readonly kind: "warning"; readonly sentence: string }
  | { readonly kind: "saved"; readonly step: number }
  | { readonly kind: "interrupted"; readonly step: number };

export interface TrainOptions {
  /** Where tokenised text is kept. */
  readonly cache: string;
  /** Seconds. */
  readonly clock: () => number;
  /** Asked after every step; true saves and stops. */
  readonly interrupted?: () => boolean;
  readonly checkpoints?: CheckpointsOptions;
}

export interface TrainResult {
  readonly steps: number;
  /** The mean of the last training losses. */
  readonly loss: number | null;
  /** Of the weights in model.safetensors. */
  readonly validLoss: number | null;
  readonly trainingSeconds: number;
  readonly validationSeconds: number;
  readonly tokensPerSecond: number | null;
  readonly parameters: number;
  readonly run: string;
  readonly interrupted: boolean;
}

/** Trains a new run into a folder; its name may depend on the task that the data turns out to be for. */
export async function* trainRun(
  out: string | ((task: Task) => string),
  settings: RunSettings,
  { overwrite = false, ...options }: TrainOptions & { readonly overwrite?: boolean },
): AsyncGenerator<RunEvent, TrainResult> {
  if (!overwrite && typeof out === "string") refuseExisting(out); // before hours of reading
  const { config, tokenizer, encoded, warnings } = await prepare(settings, options.cache);
  const material = materialOf(encoded, config, tokenizer);
  const folder = typeof out === "string" ? out : out(config.task);
  makeRunFolder(folder, overwrite);
  const unlock = lockRun(folder);
  try {
    writeRun(folder, config, tokenizer);
    for (const sentence of [...warnings, ...material.warnings]) yield { kind: "warning", sentence };
    return yield* drive({ folder, config, tokenizer }, material, options);
  } finally {
    material.close();
    unlock();
  }
}

/** Goes on with a run exactly where its latest checkpoint is. */
export async function* resumeRun(folder: string, changes: Changes, options: TrainOptions): AsyncGenerator<RunEvent, TrainResult> {
  const unlock = lockRun(openRun(folder).folder);
  try {
    const { run, encoded } = await reopen(folder, changes, options.cache);
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

const recentLosses = 50;

async function* drive({ folder, config }: OpenRun, material: Material, options: TrainOptions): AsyncGenerator<RunEvent, TrainResult> {
  const { model, training } = config;
  const { steps, seed, threads } = training;
  const loss = modelLoss(model, { smoothing: training.labelSmoothing, ...(config.task === "lm" && { ignore: null }) });
  const layout = parametersOf(loss);
  const optimizer = makeOptimizer(training.optimizer, layout, {
    ...training,
    clip: training.clip || Number.POSITIVE_INFINITY,
    accumulates: training.accumulate > 1,
  });
  const checkpoints = new Checkpoints(paths(folder).checkpoints, options.checkpoints);
  const warnings: string[] = [];
  checkpoints.clean();
  const latest = checkpoints.latest((sentence) => warnings.push(sentence));
  const position = latest ? restore(latest, optimizer) : { progress: noProgress, logBytes: 0 };
  if (!latest) initialise(layout, chance(seed), optimizer.weights);
  for (const sentence of warnings) yield { kind: "warning", sentence };
  const log = new Log(paths(folder).log, position.logBytes);
  const saver = new Saver({ folder, optimizer, checkpoints, log, validates: material.validation !== undefined, keep: training.keep });
  if (latest) saver.repairModel(position.progress);
  yield {
    kind: "ready",
    folder,
    config,
    parameters: layout.total,
    padding: material.padding,
    step: optimizer.steps,
    perEpoch: material.batches.perEpoch,
  };
  const scorer = material.validation && new Scorer(model, { threads });
  let progress = position.progress;
  const recent: number[] = [];
  let [trainingSeconds, validationSeconds, tokens, interrupted] = [0, 0, 0, false];
  try {
    const reports = fit(loss, optimizer, material.batches, {
      steps,
      learningRate: (step) => learningRate(step, training),
      accumulate: training.accumulate,
      chance: chance(seed),
      threads,
      symbols: config.task !== "lm" && takesAnyLength(model) ? "open" : "bound",
      ...(scorer &&
        material.validation && {
          validation: {
            every: training.evalEvery,
            loss: async (weights) => (await scorer.score(material.validation?.() ?? [], weights)).loss,
          },
        }),
      patience: training.patience || Number.POSITIVE_INFINITY,
      progress,
      clock: options.clock,
    });
    for await (const report of reports) {
      log.append(logLine(report));
      if (report.kind === "step") {
        trainingSeconds += report.seconds;
        tokens += report.tokens;
        recent.push(report.loss);
        if (recent.length > recentLosses) recent.shift();
      }
      if (report.kind === "validation") {
        validationSeconds += report.seconds;
        progress = report.improved
          ? { bestLoss: report.loss, bestStep: report.step, waited: 0 }
          : { ...progress, waited: progress.waited + 1 };
      }
      yield report;
      const validates = report.kind === "step" && scorer && (report.step % training.evalEvery === 0 || report.step === steps);
      if (validates) continue; // what there is to save comes with the validation
      interrupted = report.step < steps && report.kind !== "stopped" && (options.interrupted?.() ?? false);
      const due = report.step % training.saveEvery === 0 || report.step === steps || report.kind === "stopped" || interrupted;
      if (due || (report.kind === "validation" && report.improved)) {
        saver.save(progress);
        yield { kind: "saved", step: report.step };
      }
      if (interrupted) {
        yield { kind: "interrupted", step: report.step };
        break;
      }
    }
    return {
      steps: optimizer.steps,
      loss: recent.length > 0 ? recent.reduce((a, b) => a + b, 0) / recent.length : null,
      validLoss: Number.isFinite(progress.bestLoss) ? progress.bestLoss : null,
      trainingSeconds,
      validationSeconds,
      tokensPerSecond: trainingSeconds > 0 ? tokens / trainingSeconds : null,
      parameters: layout.total,
      run: folder,
      interrupted,
    };
  } catch (error) {
    throw explained(error, folder, optimizer.steps, log);
  } finally {
    await scorer?.release();
    log.close();
  }
}

/** NaN goes into the log; a failure of the disk gets the way to go on. */
function explained(error: unknown, folder: string, step: number, log: Log): unknown {
  const goOn = `go on from the last checkpoint with: qkv train --resume ${folder}`;
  if (error instanceof NonFiniteError) {
    log.append({ step: step + 1, error: error.message });
    log.flush();
    return new NonFiniteError(
      `${error.message}; the weights were not touched, and the last checkpoint is good. A smaller --lr, or --clip, usually helps`,
      { cause: error },
    );
  }
  return error instanceof RunError ? new RunError(`${error.message}; ${goOn}`, { cause: error }) : error;
}

function logLine(report: Report): Record<string, unknown> {
  switch (report.kind) {
    case "step": {
      const { step, loss, lr, norm, tokens, seconds } = report;
      return { step, loss, lr, norm, tokens, tokensPerSecond: tokens / seconds, seconds };
    }
    case "validation":
      return { step: report.step, validLoss: report.loss, improved: report.improved, seconds: report.seconds };
    case "stopped":
      return { step: report.step, stopped: `no improvement in ${report.waited} validations` };
  }
}
