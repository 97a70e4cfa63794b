import { removeQuietly } from "../disk/files.ts";
import type { TrainOptions } from "../runs/drive.ts";
import type { RunSettings } from "../runs/prepare.ts";
import { trainRun } from "../runs/train-run.ts";
import type { StepReport } from "../training/fit.ts";
import { withSteps } from "./settings.ts";

// Equal time for all: how many steps fit into it is found out by taking some.

/** This share of the time is spent on measuring the speed, and so many steps at least; neither counts. */
const share = 0.1;
const fewest = 20;
/** So many times the usual time of a token is too much for a step alone. */
const unusual = 3;
/** More than anybody waits for: the trial is broken off. */
const endless = 1e9;

/** The steps that fit into the seconds; nothing if it was interrupted. The trial goes into a folder of its own, which is removed. */
export async function stepsWithin(
  seconds: number,
  folder: string,
  settings: RunSettings,
  options: TrainOptions,
): Promise<number | undefined> {
  const training = { ...settings.training, evalEvery: endless, saveEvery: endless };
  const trial = withSteps({ ...settings, training }, endless);
  const taken: Taken[] = [];
  let spent = 0;
  try {
    for await (const event of trainRun(folder, trial, { ...options, overwrite: true })) {
      if (event.kind !== "step") continue;
      taken.push(event);
      spent += event.seconds;
      if (options.signal?.aborted) return undefined;
      if (taken.length >= fewest && spent >= share * seconds) break;
    }
  } finally {
    removeQuietly(folder);
  }
  return stepsFor(taken, seconds);
}

/** One step of a trial. */
export type Taken = Pick<StepReport, "seconds" | "tokens">;

/**
 * Steps for so many seconds, when the first ones took so long. Batches have different lengths, so what a token takes is what counts. A step
 * whose tokens took far longer than usual made a session too, which happens once.
 */
export function stepsFor(taken: readonly Taken[], seconds: number): number {
  const usual = median(taken.map((step) => step.seconds / step.tokens));
  const ordinary = taken.filter((step) => step.seconds <= unusual * usual * step.tokens);
  const later = ordinary.slice(Math.floor(ordinary.length / 2)); // the first ones warm up
  const perToken = total(later, (step) => step.seconds) / total(later, (step) => step.tokens);
  const pace = (perToken * total(taken, (step) => step.tokens)) / taken.length;
  const once = Math.max(0, total(taken, (step) => step.seconds) - taken.length * pace);
  return Math.max(1, Math.round((seconds - once) / pace));
}

const total = (taken: readonly Taken[], of: (step: Taken) => number): number => taken.reduce((sum, step) => sum + of(step), 0);

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}
