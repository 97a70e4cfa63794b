import { chance } from "../base/chance.ts";
import { NonFiniteError, RunError } from "../base/errors.ts";
import { call, sentence, setting } from "../base/sentence.ts";
import { Turns } from "../base/turns.ts";
import type { Material } from "../data/material.ts";
import type { Rows } from "../data/source.ts";
import { Checkpoints, type CheckpointsOptions } from "../disk/checkpoints.ts";
import { modelLoss, takesAnyLength } from "../models/any.ts";
import { nodeDevice } from "../node/device.ts";
import { parametersOf } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { fit, noProgress, type Report, type StepReport, type ValidationReport } from "../training/fit.ts";
import { optimizer as makeOptimizer } from "../training/optimizers.ts";
import { learningRate } from "../training/schedule.ts";
import { meanLoss, scoringLoss } from "../training/score.ts";
import { initialising } from "../weights/initialise.ts";
import type { RunConfig } from "./config.ts";
import { type OpenRun, paths } from "./folder.ts";
import { Log } from "./log.ts";
import { Saver } from "./saver.ts";
import { restoring } from "./state.ts";

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
  /** Aborted, training saves after the step under way, and ends; while data is still being read, the signal's reason is thrown. */
  readonly signal?: AbortSignal;
  /** Of a run whose data is in memory. */
  readonly rows?: Rows;
  readonly checkpoints?: CheckpointsOptions;
  /** What computes; this process if left out. */
  readonly device?: Device;
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
  /** Why it ended: all steps taken, patience at its end, or a request to stop. */
  readonly ending: "steps" | "patience" | "interrupted";
}

const recentLosses = 50;

/** Trains from the latest checkpoint on, or from the beginning; logs and saves. */
export async function* drive(
  { folder, config }: OpenRun,
  material: Material,
  options: TrainOptions,
): AsyncGenerator<RunEvent, TrainResult> {
  const { model, training } = config;
  const { steps, seed, threads } = training;
  const device = { ...(options.device ?? nodeDevice()), threads };
  const loss = modelLoss(model, { smoothing: training.labelSmoothing, ...(config.task === "lm" && { ignore: null }) });
  const layout = parametersOf(loss);
  const optimizer = makeOptimizer(training.optimizer, layout, {
    ...training,
    clip: training.clip || Number.POSITIVE_INFINITY,
    accumulates: training.accumulate > 1,
  });
  const checkpoints = new Checkpoints(paths(folder).checkpoints, options.checkpoints);
  const warnings: string[] = [];
  const turns = new Turns(); // what is begun here is not left: a save is whole
  checkpoints.clean();
  const latest = await turns.through(checkpoints.findingLatest((sentence) => warnings.push(sentence)));
  const position = latest ? await turns.through(restoring(latest, optimizer)) : { progress: noProgress, logBytes: 0 };
  if (!latest) await turns.through(initialising(layout, chance(seed), optimizer.weights));
  for (const sentence of warnings) yield { kind: "warning", sentence };
  const log = new Log(paths(folder).log, position.logBytes);
  if (log.lost)
    yield { kind: "warning", sentence: `${paths(folder).log} has lost lines since the last checkpoint; the new ones follow what is left` };
  const saver = new Saver({ folder, optimizer, checkpoints, log, validates: material.validation !== undefined, keep: training.keep });
  if (latest) await turns.through(saver.repairModel(position.progress));
  yield {
    kind: "ready",
    folder,
    config,
    parameters: layout.total,
    padding: material.padding,
    step: optimizer.steps,
    perEpoch: material.batches.perEpoch,
  };
  const held = material.validation;
  const scoring = held && scoringLoss(model, { device });
  let progress = position.progress;
  const recent: number[] = [];
  let [trainingSeconds, validationSeconds, tokens, interrupted] = [0, 0, 0, false];
  try {
    const reports = fit(loss, optimizer, material.batches, {
      steps,
      learningRate: (step) => learningRate(step, training),
      accumulate: training.accumulate,
      chance: chance(seed),
      device,
      symbols: config.task !== "lm" && takesAnyLength(model) ? "open" : "bound",
      ...(scoring && {
        validation: { every: training.evalEvery, loss: async (weights) => (await meanLoss(scoring, held(), weights)).loss },
      }),
      patience: training.patience || Number.POSITIVE_INFINITY,
      progress,
      clock: options.clock,
    });
    for await (const report of reports) {
      if (report.kind !== "stopped") log.append(logLine(report)); // that patience ended follows from the validations
      if (report.kind === "step") {
        trainingSeconds += report.seconds;
        tokens += report.tokens;
        recent.push(report.loss);
        if (recent.length > recentLosses) recent.shift();
      }
      if (report.kind === "validation") {
        validationSeconds += report.seconds;
        progress = report.progress;
      }
      yield report;
      const validates = report.kind === "step" && scoring && (report.step % training.evalEvery === 0 || report.step === steps);
      if (validates) continue; // what there is to save comes with the validation
      interrupted = report.step < steps && report.kind !== "stopped" && (options.signal?.aborted ?? false);
      const due = report.step % training.saveEvery === 0 || report.step === steps || report.kind === "stopped" || interrupted;
      if (due || (report.kind === "validation" && report.improved)) {
        await turns.through(saver.save(progress));
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
      ending: interrupted ? "interrupted" : optimizer.steps < steps ? "patience" : "steps",
    };
  } catch (error) {
    throw explained(error, folder, log, checkpoints);
  } finally {
    await scoring?.release();
    log.close();
  }
}

/** NaN goes into the log; a failure of the disk gets the way to go on. */
function explained(error: unknown, folder: string, log: Log, checkpoints: Checkpoints): unknown {
  if (error instanceof NonFiniteError) {
    log.append({ step: error.facts.step ?? null, error: error.message });
    log.flush();
    const last = checkpoints.list().at(-1);
    const saved = last === undefined ? "there is no checkpoint yet" : `the checkpoint of step ${last} is whole, but would come to the same`;
    const cure = sentence`train a new run with a smaller ${setting("lr")}, or with ${setting("clip")}`;
    return new NonFiniteError(sentence`${error.complaint}; ${saved}: ${cure}`, { ...error.facts, cause: error });
  }
  if (!(error instanceof RunError)) return error;
  const goOn = checkpoints.list().length > 0 ? "go on from the last checkpoint" : "then go on";
  return new RunError(sentence`${error.complaint}; ${goOn} with: ${call("resume", folder)}`, { ...error.facts, cause: error });
}

function logLine(report: StepReport | ValidationReport): Record<string, unknown> {
  switch (report.kind) {
    case "step": {
      const { step, loss, lr, norm, tokens, seconds } = report;
      return { step, loss, lr, norm, tokens, tokensPerSecond: tokens / seconds, seconds };
    }
    case "validation":
      return { step: report.step, validLoss: report.loss, improved: report.improved, seconds: report.seconds };
  }
}
