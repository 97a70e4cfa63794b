import { removeQuietly } from "../disk/files.ts";
import type { TrainOptions } from "../runs/drive.ts";
import { stepsFor, type Taken } from "../runs/pace.ts";
import type { RunSettings } from "../runs/prepare.ts";
import { trainRun } from "../runs/train-run.ts";
import { withSteps } from "./settings.ts";

// Equal time for all: how many steps fit into it is found out by taking some.

/** This share of the time is spent on measuring the speed, and so many steps at least; neither counts. */
const share = 0.1;
const fewest = 20;
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
