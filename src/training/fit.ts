import type { Chance } from "../base/chance.ts";
import { NonFiniteError } from "../base/errors.ts";
import type { Batches } from "../batches/batch.ts";
import type { InputTypes, Outputs, TensorFunction } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { type CompiledFunction, type CompileOptions, compile } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import type { Optimizer } from "./optimizer.ts";
import { ResidentTraining } from "./resident.ts";

export interface StepReport {
  readonly kind: "step";
  /** Steps taken so far; the first step is 1. */
  readonly step: number;
  readonly loss: number;
  /** What is made small, where another output is reported as the loss. */
  readonly objective?: number;
  readonly lr: number;
  /** The gradient's norm before clipping. */
  readonly norm: number;
  readonly tokens: number;
  readonly seconds: number;
}

export interface ValidationReport {
  readonly kind: "validation";
  readonly step: number;
  readonly loss: number;
  /** Whether it is the best so far. */
  readonly improved: boolean;
  readonly progress: Progress;
  readonly seconds: number;
}

/** Validation got no better for too long. */
export interface StoppedReport {
  readonly kind: "stopped";
  readonly step: number;
  /** Validations without an improvement. */
  readonly waited: number;
}

export type Report = StepReport | ValidationReport | StoppedReport;

/** The best validation so far, and how many came after it without being better. */
export interface Progress {
  readonly bestLoss: number;
  readonly bestStep: number;
  readonly waited: number;
}

export const noProgress: Progress = { bestLoss: Number.POSITIVE_INFINITY, bestStep: 0, waited: 0 };

export interface FitOptions {
  /** Train until so many steps have been taken, those before a resume included. */
  readonly steps: number;
  readonly learningRate: (step: number) => number;
  /** The output that is reported as the loss, where that is not what is made small: a loss without label smoothing. */
  readonly report?: string;
  /** Batches whose gradients are added up for one step. */
  readonly accumulate?: number;
  /** Where dropout's randomness comes from. */
  readonly chance: Chance;
  readonly device: Device;
  /** Parameters that are not the optimizer's, as those of a frozen base are, and where the engine finds them. */
  readonly baked?: Pick<CompileOptions, "weights" | "folder">;
  /** Whether what blocks compute is computed again for the gradients, rather than kept: less memory for more time. */
  readonly checkpointBlocks?: boolean;
  /** One session for every set of sizes ("bound", the fastest where sizes stay the same), or one for all ("open"). */
  readonly symbols?: "bound" | "open";
  /** The loss on other data, asked for after every so many steps and after the last. */
  readonly validation?: { readonly every: number; loss(weights: ParameterBuffer): Promise<number> };
  /** Stop after so many validations without an improvement. */
  readonly patience?: number;
  readonly progress?: Progress;
  /** Aborted, it ends before the next step, and throws the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * On a device that can hold them, weights and what the optimizer remembers stay there between the steps, and the optimizer's buffers are those of before
   * until `optimizer.bringHome()`; it is called before validations and at the end. Without it, all are here after every step.
   */
  readonly resident?: boolean;
  /** Seconds. */
  readonly clock: () => number;
}

/**
 * Trains, and yields what happens; whoever listens prints, saves, draws, or stops. Everything random follows from the number of the step,
 * so a run that starts again at step n with the same weights and optimizer state goes on as if it had never stopped.
 */
export async function* fit(
  loss: TensorFunction,
  optimizer: Optimizer,
  batches: Batches,
  options: FitOptions,
): AsyncGenerator<Report, Progress> {
  const { steps, learningRate, chance, device, symbols = "bound", validation, patience = Number.POSITIVE_INFINITY, clock } = options;
  const { report = "loss" } = options;
  let progress = options.progress ?? noProgress;
  const gradientsFor = [...optimizer.gradients.views.keys()]; // those that it froze have none
  const outputs = ["loss", report];
  const keeps = options.checkpointBlocks ? "block inputs" : "everything";
  const holds = options.resident && device.engine.holds && (options.accumulate ?? 1) === 1;
  const resident = holds
    ? new ResidentTraining(loss, optimizer, { ...options.baked, device, symbols, report, checkpointBlocks: options.checkpointBlocks })
    : undefined;
  if (resident) optimizer.bringHome = () => resident.bringHome();
  const step = compile(loss, { ...options.baked, gradientOf: "loss", gradientsFor, keeps, outputs, device, symbols, sessions: 16 });
  let broken = false; // a device that failed is asked no more
  try {
    while (optimizer.steps < steps && progress.waited < patience) {
      options.signal?.throwIfAborted();
      const begin = clock();
      const rate = learningRate(optimizer.steps + 1);
      const there = resident && (await residentStep(resident, optimizer, batches, rate, chance));
      const computed = there ?? (await gradients(step, optimizer, batches, chance, options.accumulate ?? 1, report));
      const { loss: value, objective, tokens } = computed;
      const norm = there ? there.norm : optimizer.step(rate);
      if (!Number.isFinite(norm))
        throw new NonFiniteError(`${whichGradient(optimizer)}; the weights were not touched`, { step: optimizer.steps + 1 });
      const apart = report === "loss" ? {} : { objective };
      yield { kind: "step", step: optimizer.steps, loss: value, ...apart, lr: rate, norm, tokens, seconds: clock() - begin };
      if (!validation || (optimizer.steps % validation.every !== 0 && optimizer.steps !== steps)) continue;
      const validationBegin = clock();
      await optimizer.bringHome();
      const found = await validation.loss(optimizer.weights);
      if (!Number.isFinite(found)) throw new NonFiniteError(`the validation loss is ${found}`, { step: optimizer.steps });
      const improved = found < progress.bestLoss;
      progress = improved ? { bestLoss: found, bestStep: optimizer.steps, waited: 0 } : { ...progress, waited: progress.waited + 1 };
      yield { kind: "validation", step: optimizer.steps, loss: found, improved, progress, seconds: clock() - validationBegin };
      if (progress.waited >= patience) yield { kind: "stopped", step: optimizer.steps, waited: progress.waited };
    }
    return progress;
  } catch (error) {
    broken = !(error instanceof NonFiniteError);
    throw error;
  } finally {
    if (resident) {
      if (!broken) await optimizer.bringHome();
      optimizer.bringHome = async () => {};
      await resident.release();
    }
    await step.release();
  }
}

async function residentStep(resident: ResidentTraining, { steps }: Optimizer, batches: Batches, rate: number, chance: Chance) {
  const batch = batches.batch(steps);
  return { ...(await resident.step(batch, rate, chance.fork("dropout").fork(steps))), tokens: batch.tokens };
}

/** The gradient of the mean loss over one batch, or over several that count by their targets; nothing is touched but the gradients. */
async function gradients(
  step: CompiledFunction<InputTypes, Outputs>,
  optimizer: Optimizer,
  batches: Batches,
  chance: Chance,
  accumulate: number,
  report: string,
): Promise<{ loss: number; objective: number; tokens: number }> {
  const parts = Array.from({ length: accumulate }, (_, i) => optimizer.steps * accumulate + i).map((index) => ({
    index,
    ...batches.batch(index),
  }));
  const total = parts.reduce((sum, { targets }) => sum + targets, 0);
  let [loss, objective] = [0, 0];
  for (const [i, { index, feeds, targets }] of parts.entries()) {
    const run = { weights: optimizer.weights, gradients: optimizer.gradients, chance: chance.fork("dropout").fork(index) };
    const results = await step.run(feeds, run);
    const value = Number(results.loss.data[0]);
    if (!Number.isFinite(value)) {
      const origin = await step.whereNonFinite(feeds, run);
      throw new NonFiniteError(`the loss is ${value}${origin ? `; it first appeared ${origin}` : ""}; the weights were not touched`, {
        step: optimizer.steps + 1,
      });
    }
    objective += (value * targets) / total;
    loss += (Number(results[report].data[0]) * targets) / total;
    if (accumulate > 1) optimizer.accumulate(targets / total, i === 0 ? "first" : i === accumulate - 1 ? "last" : "middle");
  }
  return { loss, objective, tokens: parts.reduce((sum, { tokens }) => sum + tokens, 0) };
}

/** The first parameter whose gradient is not finite. */
function whichGradient({ gradients: { views } }: Optimizer): string {
  for (const [name, { data }] of views) {
    const at = (data as Float32Array).findIndex((value) => !Number.isFinite(value));
    if (at >= 0) return `the gradient of ${name} has ${data[at]} at element ${at}`;
  }
  return "the gradient is too long for float32";
}
