import { chance } from "../base/chance.ts";
import { NonFiniteError, RunError } from "../base/errors.ts";
import { call, sentence, setting, type Words } from "../base/sentence.ts";
import { Turns } from "../base/turns.ts";
import type { Material } from "../data/material.ts";
import type { Rows } from "../data/source.ts";
import { Checkpoints, type CheckpointsOptions } from "../disk/checkpoints.ts";
import { ParameterBuffer } from "../graph/parameters.ts";
import { takesAnyLength } from "../models/any.ts";
import type { Definition } from "../models/own.ts";
import { deviceOf } from "../node/devices.ts";
import type { Device } from "../runtime/device.ts";
import { fit, noProgress, type Progress, type Report, type StepReport, type ValidationReport } from "../training/fit.ts";
import { alone, type Group, partOf } from "../training/group.ts";
import { type Optimizer, type WholeState, wholeState } from "../training/optimizer.ts";
import { optimizer as makeOptimizer } from "../training/optimizers.ts";
import { learningRate } from "../training/schedule.ts";
import { meanLoss, scoringFunction } from "../training/score.ts";
import { initialising } from "../weights/initialise.ts";
import type { Calibrated } from "./calibrate.ts";
import { droppingOf, type RunConfig } from "./config.ts";
import { type OpenRun, paths } from "./folder.ts";
import { scoreKept } from "./kept.ts";
import { Log } from "./log.ts";
import { lostStart } from "./parent.ts";
import { Saver } from "./saver.ts";
import type { Sizes } from "./sizes.ts";
import { restoring } from "./state.ts";
import { traineeOf } from "./trainee.ts";

/** What training tells whoever listens. */
export type RunEvent =
  | Report
  | {
      readonly kind: "ready";
      readonly folder: string;
      readonly config: RunConfig;
      readonly parameters: number;
      /** How many of them are not frozen. */
      readonly trained: number;
      readonly padding: number;
      readonly step: number;
      readonly perEpoch: number;
      /** Where each rank computes; only of a group. */
      readonly hosts?: readonly string[];
    }
  | ChosenReport
  | { readonly kind: "warning"; readonly sentence: string }
  | { readonly kind: "saved"; readonly step: number }
  /** The loss over all that is validated with of the weights that were kept, where validations scored a part. */
  | { readonly kind: "scored"; readonly step: number; readonly loss: number; readonly targets: number; readonly seconds: number }
  | ({ readonly kind: "calibrated" } & Calibrated)
  | { readonly kind: "interrupted"; readonly step: number };

/** What was settled for the minutes that were asked for. */
export interface ChosenReport {
  readonly kind: "chosen";
  readonly minutes: number;
  readonly steps: number;
  /** Seconds of a step in the trial. */
  readonly stepSeconds: number;
  /** How often the data is read. */
  readonly epochs: number;
  /** Sizes that were left to the rule. */
  readonly sizes: Partial<Sizes>;
  readonly sentences: readonly string[];
}

export interface TrainOptions {
  /** Where tokenised text is kept. */
  readonly cache: string;
  /** Seconds. */
  readonly clock: () => number;
  /** When what should fit into minutes began, by the clock; with the training, if left out. */
  readonly began?: number;
  /** Aborted, training saves after the step under way, and ends; while data is still being read, the signal's reason is thrown. */
  readonly signal?: AbortSignal;
  /** How warnings name settings; as a program does, if left out. */
  readonly words?: Words;
  /** Of a run whose data is in memory. */
  readonly rows?: Rows;
  readonly checkpoints?: CheckpointsOptions;
  /** What computes; this process if left out. */
  readonly device?: Device;
  /** The definitions of models of one's own, by which a run of one of them is known again. */
  readonly models?: readonly Definition[];
  /** Who trains together; this process alone if left out. Rank 0 has the run folder, the others need none. */
  readonly group?: Group;
  /** Whether each rank keeps the optimizer's state of its own part alone. */
  readonly shardOptimizer?: boolean;
  /** Threads of this process at most, where a run's own number was for other company; it stays in the run. */
  readonly mostThreads?: number;
}

export interface TrainResult {
  readonly steps: number;
  /** The mean of the last training losses, without label smoothing. */
  readonly loss: number | null;
  /** Of the weights in model.safetensors. */
  readonly validLoss: number | null;
  readonly trainingSeconds: number;
  readonly validationSeconds: number;
  /** Of checkpoints and the file to ship. */
  readonly savingSeconds: number;
  readonly tokensPerSecond: number | null;
  readonly parameters: number;
  readonly run: string;
  /** Seconds of the training that went into what ranks say to each other; only of a group. */
  readonly exchangeSeconds?: number;
  /** Why it ended: all steps taken, patience at its end, or a request to stop. */
  readonly ending: "steps" | "patience" | "interrupted";
}

/** A run that is new. */
export interface Beginning {
  /** The weights to begin with; if left out, they are drawn from the seed. */
  readonly start?: ParameterBuffer;
  /** Makes the folder a run. Called when a first step has been computed, so that a start that fails leaves nothing behind. */
  place(progress: Progress): void;
}

/** What is written while a run trains. */
interface Disk {
  readonly log: Log;
  readonly saver: Saver;
}

const recentLosses = 50;

/** Trains from the latest checkpoint on, or from the beginning; logs and saves. */
export async function* drive(
  run: OpenRun,
  material: Material,
  options: TrainOptions,
  beginning?: Beginning,
): AsyncGenerator<RunEvent, TrainResult> {
  const { folder, config } = run;
  const { model, training } = config;
  const { steps, seed } = training;
  const threads = Math.min(training.threads, options.mostThreads ?? training.threads);
  const { group = alone, shardOptimizer = false } = options;
  const device = { ...deviceOf(options.device ?? training.device), threads };
  const { loss, scored, layout, parameters, baked } = traineeOf(run, material);
  const optimizer = makeOptimizer(training.optimizer, layout, {
    ...training,
    clip: training.clip || Number.POSITIVE_INFINITY,
    accumulates: training.accumulate > 1,
    ...(shardOptimizer && group.size > 1 && { part: (count: number) => partOf(count, group.rank, group.size) }),
  });
  const checkpoints = new Checkpoints(paths(folder).checkpoints, options.checkpoints);
  const warnings: string[] = [];
  const turns = new Turns(); // what is begun here is not left: a save is whole
  if (!beginning && group.leads) checkpoints.clean();
  const latest = beginning || !group.leads ? undefined : await turns.through(checkpoints.findingLatest((said) => warnings.push(said)));
  const remembered = latest && wholeState(optimizer);
  const found = latest ? await turns.through(restoring(latest, optimizer, remembered)) : { progress: noProgress, logBytes: 0 };
  for (const sentence of warnings) yield { kind: "warning", sentence };
  if (!latest && group.leads) {
    if (config.from && !beginning?.start) throw lostStart(folder, config.from);
    if (beginning?.start) optimizer.weights.data.set(beginning.start.data);
    else await turns.through(initialising(layout, chance(seed), optimizer.weights));
  }
  const position = { ...found, progress: await sharedStart(group, optimizer, found.progress, remembered) };
  const open = (): Disk => {
    const log = new Log(paths(folder).log, position.logBytes);
    return {
      log,
      saver: new Saver({ folder, config, optimizer, checkpoints, log, validates: material.validation !== undefined }),
    };
  };
  let disk = beginning || !group.leads ? undefined : open();
  if (disk?.log.lost)
    yield { kind: "warning", sentence: `${paths(folder).log} has lost lines since the last checkpoint; the new ones follow what is left` };
  yield {
    kind: "ready",
    folder,
    config,
    parameters,
    trained: optimizer.gradients.layout.total,
    padding: material.padding,
    step: optimizer.steps,
    perEpoch: material.batches.perEpoch,
    ...(group.size > 1 && { hosts: group.hosts }),
  };
  for (const sentence of withoutParts(training, device, group, optimizer)) yield { kind: "warning", sentence };
  const held = material.validation;
  const scoring = held && scoringFunction(scored, { ...baked, device, symbols: takesAnyLength(model) ? "open" : "bound" });
  const validLoss = held && scoring && (async (weights: ParameterBuffer) => (await meanLoss(scoring, held(), weights, { group })).loss);
  let progress = position.progress;
  const recent: number[] = [];
  let [trainingSeconds, validationSeconds, savingSeconds, exchangeSeconds, tokens] = [0, 0, 0, 0, 0];
  let [interrupted, asked] = [false, false];
  try {
    const before = config.from && optimizer.steps === 0 ? await baseline(validLoss, optimizer, options.clock) : undefined;
    if (before) {
      progress = before.progress;
      validationSeconds += before.seconds;
      disk?.log.append(logLine(before));
      yield before;
    }
    if (latest && disk) await turns.through(disk.saver.repairModel(progress));
    const longest = Math.min(model.context, config.data.longest ?? model.context);
    const drops = droppingOf(training);
    const reports = fit(loss, optimizer, material.batches, {
      steps,
      learningRate: (step) => learningRate(step, training),
      accumulate: training.accumulate,
      ...(training.accumulates && { accumulates: training.accumulates }),
      group,
      wantsStop: () => options.signal?.aborted ?? false,
      checkpointBlocks: training.checkpointBlocks,
      recomputePattern: training.recomputePattern,
      ...(training.partsEvery && { partsEvery: training.partsEvery }),
      ...(training.reports && training.labelSmoothing > 0 && { report: training.reports }),
      chance: chance(seed, drops.source),
      noise: drops.by,
      device,
      resident: true,
      baked,
      symbols: material.kind === "examples" && takesAnyLength(model) ? "open" : "bound",
      expected: { batch: Math.ceil(training.batch / group.size), time: longest, sourceTime: longest },
      ...(validLoss && { validation: { every: training.evalEvery, loss: validLoss } }),
      patience: training.patience || Number.POSITIVE_INFINITY,
      progress,
      clock: options.clock,
    });
    let placed = false;
    const place = () => {
      beginning?.place(progress);
      disk = open();
      if (before) disk.log.append(logLine(before));
    };
    for await (const report of reports) {
      if (!placed) {
        placed = true;
        if (!disk && group.leads) place();
        await group.meet(); // others wait for the disk of rank 0 as long as it takes
      }
      if (report.kind === "exchange") {
        yield report; // how a run is trained, and no part of it
        continue;
      }
      if (report.kind !== "stopped") disk?.log.append(logLine(report)); // that patience ended follows from the validations
      if (report.kind === "step") {
        trainingSeconds += report.seconds;
        exchangeSeconds += report.exchange ?? 0;
        asked ||= report.stop ?? false;
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
      interrupted = report.step < steps && report.kind !== "stopped" && (group.size > 1 ? asked : (options.signal?.aborted ?? false));
      const due = report.step % training.saveEvery === 0 || report.step === steps || report.kind === "stopped" || interrupted;
      if (due || (report.kind === "validation" && report.improved)) {
        const begin = options.clock();
        await optimizer.bringHome();
        const state = await gatheredState(group, optimizer);
        if (disk) await turns.through(disk.saver.save(progress, state));
        await group.meet(); // others wait for the disk of rank 0 as long as it takes
        savingSeconds += options.clock() - begin;
        yield { kind: "saved", step: report.step };
      }
      if (interrupted) {
        yield { kind: "interrupted", step: report.step };
        break;
      }
    }
    const begin = options.clock();
    const whole =
      training.evalTokens !== undefined && held && scoring && !interrupted
        ? await scoreKept(run, optimizer.weights, group, (weights) => meanLoss(scoring, held("all"), weights, { group }))
        : undefined;
    if (whole) {
      const [{ step, loss, targets }, seconds] = [whole, options.clock() - begin];
      validationSeconds += seconds;
      disk?.log.append({ step, wholeLoss: loss }); // the same whether it was computed now or before
      disk?.log.flush();
      if (targets !== undefined) yield { kind: "scored", step, loss, targets, seconds };
    }
    return {
      steps: optimizer.steps,
      loss: recent.length > 0 ? recent.reduce((a, b) => a + b, 0) / recent.length : null,
      validLoss: whole?.loss ?? (Number.isFinite(progress.bestLoss) ? progress.bestLoss : null),
      trainingSeconds,
      validationSeconds,
      savingSeconds,
      tokensPerSecond: trainingSeconds > 0 ? tokens / trainingSeconds : null,
      parameters,
      run: folder,
      ...(group.size > 1 && { exchangeSeconds }),
      ending: interrupted ? "interrupted" : optimizer.steps < steps ? "patience" : "steps",
    };
  } catch (error) {
    throw explained(error, folder, disk?.log, checkpoints);
  } finally {
    await scoring?.release();
    disk?.log.close();
  }
}

/** Where nobody has all of a gradient, there are no norms by layer; they were asked for, so this is said. */
function withoutParts(
  { partsEvery, accumulate }: RunConfig["training"],
  { engine }: Device,
  { size }: Group,
  { isPart }: Optimizer,
): string[] {
  if (!partsEvery) return [];
  const where = isPart
    ? "each rank has a part of the optimizer alone"
    : engine.holds && accumulate === 1 && size === 1
      ? "weights and gradients stay on the device"
      : undefined;
  return where === undefined ? [] : [`${where}, so the norms by layer are left out`];
}

/** What rank 0 begins with is what all begin with: weights, what the optimizer remembers, how far everything is. */
async function sharedStart(group: Group, optimizer: Optimizer, progress: Progress, whole?: WholeState): Promise<Progress> {
  if (group.size === 1) return progress;
  const { bestLoss, bestStep, waited } = progress;
  const said = await group.told(JSON.stringify([optimizer.steps, Number.isFinite(bestLoss) ? bestLoss : null, bestStep, waited]));
  const [step, best, ...rest] = JSON.parse(said) as [number, number | null, number, number];
  optimizer.steps = step;
  await group.broadcast(optimizer.weights.data as Float32Array);
  const staging = optimizer.gradients.data as Float32Array; // nothing is in it yet
  for (const [name, { data, layout }] of step === 0 ? [] : optimizer.state) {
    const all = staging.subarray(0, layout.total);
    if (group.leads) all.set(whole?.get(name)?.data ?? data);
    await group.broadcast(all);
    data.set(optimizer.isPart ? all.subarray(optimizer.part.from, optimizer.part.to) : all);
  }
  return { bestLoss: best ?? noProgress.bestLoss, bestStep: rest[0], waited: rest[1] };
}

/** What there is to save of what the optimizer remembers; where it is in parts, all of them, and on rank 0 alone. */
async function gatheredState(group: Group, optimizer: Optimizer): Promise<WholeState> {
  const { state, part, gradients, isPart } = optimizer;
  if (!isPart) return wholeState(optimizer);
  const staging = gradients.data as Float32Array; // the step is taken
  const whole = new Map<string, ParameterBuffer>();
  for (const [name, { data }] of state) {
    staging.set(data, part.from);
    await group.share(staging);
    if (group.leads) whole.set(name, new ParameterBuffer(gradients.layout, staging.slice()));
  }
  return whole;
}

/** How good the weights are that a run begins with; they are the best until others are better. */
async function baseline(
  validLoss: ((weights: ParameterBuffer) => Promise<number>) | undefined,
  { weights }: Optimizer,
  clock: () => number,
): Promise<ValidationReport | undefined> {
  if (!validLoss) return undefined;
  const begin = clock();
  const loss = await validLoss(weights);
  if (!Number.isFinite(loss)) throw new NonFiniteError(`the validation loss is ${loss}`, { step: 0 });
  return { kind: "validation", step: 0, loss, improved: true, progress: { ...noProgress, bestLoss: loss }, seconds: clock() - begin };
}

/** NaN goes into the log; a failure of the disk gets the way to go on. Before there is a log, there is nothing to go on with. */
function explained(error: unknown, folder: string, log: Log | undefined, checkpoints: Checkpoints): unknown {
  if (error instanceof NonFiniteError) {
    log?.append({ step: error.facts.step ?? null, error: error.message });
    log?.flush();
    const last = log && checkpoints.list().at(-1);
    const saved = last === undefined ? "there is no checkpoint yet" : `the checkpoint of step ${last} is whole, but would come to the same`;
    const cure = sentence`train a new run with a smaller ${setting("lr")}, or with ${setting("clip")}`;
    return new NonFiniteError(sentence`${error.complaint}; ${saved}: ${cure}`, { ...error.facts, cause: error });
  }
  if (!(error instanceof RunError) || !log) return error;
  const goOn = checkpoints.list().length > 0 ? "go on from the last checkpoint" : "then go on";
  return new RunError(sentence`${error.complaint}; ${goOn} with: ${call("resume", folder)}`, { ...error.facts, cause: error });
}

function logLine(report: StepReport | ValidationReport): Record<string, unknown> {
  switch (report.kind) {
    case "step": {
      const { step, loss, objective, lr, norm, tokens, seconds, parts } = report;
      const told = { step, loss, ...(objective !== undefined && { objective }), lr, norm, tokens };
      return { ...told, tokensPerSecond: tokens / seconds, seconds, ...(parts && { parts }) };
    }
    case "validation":
      return { step: report.step, validLoss: report.loss, improved: report.improved, seconds: report.seconds };
  }
}
