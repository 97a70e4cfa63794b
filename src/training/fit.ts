import type { Chance } from "../base/chance.ts";
import { NonFiniteError } from "../base/errors.ts";
import type { Batch, Batches } from "../batches/batch.ts";
import type { InputTypes, Outputs, TensorFunction } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { type CompiledFunction, type CompileOptions, compile } from "../runtime/compile.ts";
import { type Device, freeMemoryOf } from "../runtime/device.ts";
import { keepsOf, type Recomputing } from "../runtime/pipeline.ts";
import { agreeOnWeights } from "./agreement.ts";
import { alone, type Group, type Part } from "./group.ts";
import type { Optimizer } from "./optimizer.ts";
import { cutOf, ExchangeChoice, type ExchangeReport, type Overlap } from "./overlap.ts";
import { NormTaker, type PartNorms } from "./part-norms.ts";
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
  /** Seconds of these that went into what ranks say to each other, waiting included; only of a group. */
  readonly exchange?: number;
  /** Somebody of those who train together wants to stop. */
  readonly stop?: boolean;
  /** Norms by layer, in the steps that were asked for. */
  readonly parts?: readonly PartNorms[];
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

export type Report = StepReport | ValidationReport | StoppedReport | ExchangeReport;

/** The best validation so far, and how many came after it without being better. */
export interface Progress {
  readonly bestLoss: number;
  readonly bestStep: number;
  readonly waited: number;
}

export const noProgress: Progress = { bestLoss: Number.POSITIVE_INFINITY, bestStep: 0, waited: 0 };

export interface FitOptions extends Recomputing {
  /** Train until so many steps have been taken, those before a resume included. */
  readonly steps: number;
  readonly learningRate: (step: number) => number;
  /** The output that is reported as the loss, where that is not what is made small: a loss without label smoothing. */
  readonly report?: string;
  /** Parts of a batch, or batches, whose gradients are added up for one step. */
  readonly accumulate?: number;
  /** What these are: parts of one larger batch (`rows`), or batches with numbers of their own; batches, if left out. */
  readonly accumulates?: Accumulation;
  /** Who trains together, each with rows of every batch; this process alone if left out. */
  readonly group?: Group;
  /**
   * Whether they exchange some gradients while others are computed: if it is measured to be faster (if left out), always, or never. It takes memory for what goes from one
   * session to the next, and changes no bit. Not where each has a part of the optimizer alone, nor on a device beside the processor.
   */
  readonly overlap?: Overlap;
  /** Asked in every step; that somebody wants to stop is in the report of all. */
  readonly wantsStop?: () => boolean;
  /** Where dropout's randomness comes from, and as what it is fed. */
  readonly chance: Chance;
  readonly noise?: CompileOptions["noise"];
  readonly device: Device;
  /** Parameters that are not the optimizer's, as those of a frozen base are, and where the engine finds them. */
  readonly baked?: Pick<CompileOptions, "weights" | "folder">;
  /** One session for every set of sizes ("bound", the fastest where sizes stay the same), or one for all ("open"). */
  readonly symbols?: "bound" | "open";
  /** The sizes that examples have at most, where they are open. */
  readonly expected?: CompileOptions["expected"];
  /** The loss on other data, asked for after every so many steps and after the last. */
  readonly validation?: { readonly every: number; loss(weights: ParameterBuffer): Promise<number> };
  /**
   * Every so many steps the report has norms by layer; never, if left out or 0. They change no bit. Not where weights stay on a device, or each rank has a part
   * of the optimizer: nobody here has all of a gradient there.
   */
  readonly partsEvery?: number;
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

export const accumulations = ["rows", "batches"] as const;
export type Accumulation = (typeof accumulations)[number];

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
  const { steps, learningRate, device, symbols = "bound", validation, patience = Number.POSITIVE_INFINITY, clock } = options;
  const { report = "loss", group = alone } = options;
  let progress = options.progress ?? noProgress;
  const gradientsFor = [...optimizer.gradients.views.keys()]; // those that it froze have none
  const outputs = ["loss", report];
  const keeps = keepsOf(options);
  const holds = options.resident && device.engine.holds && (options.accumulate ?? 1) === 1 && group.size === 1;
  const resident = holds
    ? new ResidentTraining(loss, optimizer, { ...options.baked, device, symbols, report, keeps, noise: options.noise })
    : undefined;
  if (resident) optimizer.bringHome = () => resident.bringHome();
  else optimizer.prepare(device);
  const compiled = {
    ...options.baked,
    gradientOf: "loss",
    gradientsFor,
    keeps,
    outputs,
    device,
    symbols,
    noise: options.noise,
    expected: options.expected,
    sessions: 16,
  } as const;
  const step = compile(loss, compiled);
  const cut = group.size > 1 && !optimizer.isPart && !device.engine.host ? cutOf(optimizer.gradients.layout) : undefined;
  const staged = compile(loss, { ...compiled, ...(cut && { stages: cut.stages }) });
  const fits = async () => {
    const own = sharesOf(optimizer.steps, batches, { ...options, report, group }).find(({ owner }) => owner === group.rank);
    const bytes = own && own.targets > 0 ? await staged.bytesAcross(own.feeds) : 0;
    return 2 * bytes + 4 * (optimizer.gradients.data.length - (cut?.from ?? 0)) <= freeMemoryOf(device); // what comes in has room of its own
  };
  const exchange = cut && new ExchangeChoice(group, options.overlap ?? "measured", fits);
  const way = () => (exchange?.way === "meanwhile" ? cut : undefined);
  let taken: NormTaker | undefined;
  const norms = () => {
    taken ??= new NormTaker(optimizer);
    return taken;
  };
  let broken = false; // a device that failed is asked no more
  let longest: number | undefined;
  let before: ReturnType<typeof way> | "nothing" = "nothing"; // how the last step was taken
  try {
    while (optimizer.steps < steps && progress.waited < patience) {
      options.signal?.throwIfAborted();
      const early = way();
      const fresh = early !== before; // such a step makes its sessions, which may take long
      before = early;
      if (!fresh && longest !== undefined) group.patient(patienceAfter(longest));
      const [begin, exchanged] = [clock(), group.seconds];
      const rate = learningRate(optimizer.steps + 1);
      const taker = isDue(optimizer.steps + 1, options.partsEvery) && !resident && !optimizer.isPart ? norms() : undefined;
      const there = resident && (await residentStep(resident, optimizer, batches, rate, options));
      const computed =
        there ?? (await gradients(early ? staged : step, optimizer, batches, { ...options, report, group, from: early?.from }));
      const { loss: value, objective, tokens, stop } = computed;
      const norm = there ? there.norm : await move(optimizer, rate, group, { from: early?.from, taker });
      if (!Number.isFinite(norm))
        throw new NonFiniteError(`${await whichGradient(optimizer, group)}; the weights were not touched`, { step: optimizer.steps + 1 });
      const apart = report === "loss" ? {} : { objective };
      const together = group.size > 1 ? { exchange: group.seconds - exchanged } : {};
      const seconds = clock() - begin;
      group.patient(); // whoever listens may save
      if (!fresh) longest = Math.max(longest ?? 0, seconds);
      yield {
        kind: "step",
        step: optimizer.steps,
        loss: value,
        ...apart,
        lr: rate,
        norm,
        tokens,
        seconds,
        ...together,
        ...(stop && { stop }),
        ...(taker && { parts: taker.after() }),
      };
      const chosen = await exchange?.heard({ step: optimizer.steps, seconds, tokens, exchange: group.seconds - exchanged });
      if (chosen) {
        await (chosen.way === "after" ? staged : step).release();
        group.forget();
        yield chosen;
      }
      if (!validation || (optimizer.steps % validation.every !== 0 && optimizer.steps !== steps)) continue;
      const validationBegin = clock();
      await optimizer.bringHome();
      const found = await validation.loss(optimizer.shipped);
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
    await optimizer.release();
    await step.release();
    await staged.release();
  }
}

const isDue = (step: number, every = 0): boolean => every > 0 && step % every === 0;

async function residentStep(
  resident: ResidentTraining,
  { steps }: Optimizer,
  batches: Batches,
  rate: number,
  { chance, wantsStop }: Pick<FitOptions, "chance" | "wantsStop">,
) {
  const batch = batches.batch(steps);
  const found = await resident.step(batch, rate, chance.fork("dropout").fork(steps));
  return { ...found, tokens: batch.tokens, stop: wantsStop?.() ?? false };
}

/** Seconds that a rank is waited for: a step takes what it takes, and a new shape its time once. With steps of up to 7 s a host that is gone ends the job within a minute. */
const patienceAfter = (longest: number): number => 42 + 2 * longest;

interface Wanted extends Pick<FitOptions, "chance" | "accumulate" | "accumulates" | "wantsStop"> {
  readonly report: string;
  readonly group: Group;
  /** Gradients from here on are summed while those before are computed; all of them later, if left out. */
  readonly from?: number | undefined;
}

/** A part of what a step is computed from. */
interface Share extends Batch {
  /** The number of the batch that it is a part of. */
  readonly index: number;
  readonly owner: number;
}

/** All parts of a step, in the order in which they are added up. */
function sharesOf(step: number, batches: Batches, { accumulate = 1, accumulates = "batches", group: { size } }: Wanted): Share[] {
  const all = Array.from({ length: size * accumulate }, (_, part) => part);
  if (accumulates === "rows")
    return all.map((part) => ({
      ...batches.batch(step, { part, of: all.length }),
      index: step,
      owner: Math.floor(part / accumulate),
    }));
  return all.map((part) => {
    const [owner, index] = [Math.floor(part / accumulate), step * accumulate + (part % accumulate)];
    return { ...batches.batch(index, { part: owner, of: size }), index, owner };
  });
}

/** The gradient of the mean loss over all parts of a step, which count by their targets; nothing is touched but the gradients. */
async function gradients(
  step: CompiledFunction<InputTypes, Outputs>,
  optimizer: Optimizer,
  batches: Batches,
  wanted: Wanted,
): Promise<{ loss: number; objective: number; tokens: number; stop: boolean }> {
  const { group, chance, report, accumulate = 1, wantsStop, from } = wanted;
  const all = sharesOf(optimizer.steps, batches, wanted);
  const total = all.reduce((sum, { targets }) => sum + targets, 0);
  const own = all.filter(({ owner, targets }) => owner === group.rank && targets > 0); // rows that are all empty say nothing
  const told = new Float64Array(2 + 2 * accumulate); // whether to stop, whether all is well, and of each part two losses
  let wrong = "";
  told[0] = wantsStop?.() ? 1 : 0;
  let summed: (() => Promise<void>) | undefined;
  const begin = () => {
    summed ??= group.begin((optimizer.gradients.data as Float32Array).subarray(from));
  };
  for (const [i, share] of own.entries()) {
    const { index, feeds, targets, rows } = share;
    const last = i === own.length - 1;
    const count = (stretch?: Part) => {
      if (own.length > 1) optimizer.accumulate(targets / total, i === 0 ? "first" : last ? "last" : "middle", stretch);
      else if (targets < total) optimizer.scale(targets / total, stretch);
    };
    const reached = () => {
      if (summed || from === undefined) return;
      count({ from, to: optimizer.gradients.data.length });
      begin();
    };
    const run = {
      weights: optimizer.weights,
      gradients: optimizer.gradients,
      chance: chance.fork("dropout").fork(index),
      rows,
      ...(last && { reached }),
    };
    const results = await step.run(feeds, run);
    const value = Number(results.loss.data[0]);
    if (!Number.isFinite(value)) {
      const origin = await step.whereNonFinite(feeds, run);
      wrong = `the loss is ${value}${origin ? `; it first appeared ${origin}` : ""}`;
      break;
    }
    told.set([value, Number(results[report].data[0])], 2 + 2 * (all.indexOf(share) % accumulate));
    count(summed && from !== undefined ? { from: 0, to: from } : undefined);
  }
  if (own.length === 0) optimizer.gradients.data.fill(0);
  if (from !== undefined) begin(); // whoever has no rows, or stopped at a loss that is no number, takes part
  await summed?.();
  told[1] = wrong === "" ? 0 : 1;
  const heard = await group.gather(told);
  if (heard.some(([, failed]) => failed > 0)) throw await nonFinite(wrong, group, optimizer.steps + 1);
  let [loss, objective] = [0, 0];
  for (const [part, { owner, targets }] of all.entries()) {
    const [value, reported] = heard[owner].subarray(2 + 2 * (part % accumulate));
    if (targets === 0) continue; // nothing was hidden, say: nothing to learn, and a mean over nothing
    objective += (value * targets) / total;
    loss += (reported * targets) / total;
  }
  return { loss, objective, tokens: all.reduce((sum, { tokens }) => sum + tokens, 0), stop: heard.some(([stop]) => stop > 0) };
}

/** What went wrong on the first of the ranks on which it did: all stop, before any touches its weights. */
async function nonFinite(own: string, group: Group, step: number): Promise<NonFiniteError> {
  const said = await group.exchange(own);
  const rank = said.findIndex((one) => one !== "");
  const where = group.size > 1 ? `on rank ${rank} (${group.hosts[rank]}) ` : "";
  return new NonFiniteError(`${where}${said[rank]}; the weights were not touched`, { step });
}

/** The same step on every rank. Where each moves a part of the weights, they are shared afterwards. Gives back the gradient's norm. */
async function move(
  optimizer: Optimizer,
  rate: number,
  group: Group,
  { from, taker }: { readonly from?: number | undefined; readonly taker?: NormTaker | undefined },
): Promise<number> {
  const data = optimizer.gradients.data as Float32Array;
  if (!optimizer.isPart) {
    await group.sum(data.subarray(0, from));
    taker?.before();
    const norm = await optimizer.step(rate);
    if (group.size > 1 && optimizer.isRoundedByEngine) await agreeOnWeights(optimizer.weights.data as Float32Array, group);
    return norm;
  }
  await group.reduce(data);
  const norms = await group.gather(Float64Array.of(optimizer.gradientNorm()));
  const norm = await optimizer.step(rate, Math.hypot(...norms.map(([one]) => one)));
  if (!Number.isFinite(norm)) return norm;
  optimizer.weightsToGradients();
  await group.share(data);
  optimizer.gradientsToWeights();
  return norm;
}

/** The first parameter whose gradient is not finite; where each rank has the sums of its part, the first that one of them finds. */
async function whichGradient({ gradients: { data, layout }, part }: Optimizer, group: Group): Promise<string> {
  const at = data.subarray(part.from, part.to).findIndex((value) => !Number.isFinite(value));
  const entry = at < 0 ? undefined : layout.entries.findLast(({ offset }) => offset <= part.from + at);
  const own = entry ? `the gradient of ${entry.name} has ${data[part.from + at]} at element ${part.from + at - entry.offset}` : "";
  return (await group.exchange(own)).find((said) => said !== "") ?? "the gradient is too long for float32";
}
