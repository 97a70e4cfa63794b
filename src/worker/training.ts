import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ConfigError } from "../base/errors.ts";
import { resume, type TrainSettings, train } from "../library/train.ts";
import { type DeviceName, resolved } from "../node/devices.ts";
import type { RunEvent, TrainResult } from "../runs/drive.ts";
import { type IntakeOptions, isRunFolder, runsFolder, stored } from "./intake.ts";
import type { Job } from "./messages.ts";

// Training in a page is training: data in files, a run folder, checkpoints.

/** Texts that a page can hold are tokenised again in a moment, so they are not kept. */
export const tokenised = join(tmpdir(), "tokenised");

interface Watching {
  readonly signal: AbortSignal;
  readonly listen: (event: RunEvent) => unknown;
}

export async function trained(
  { data, valid, settings }: Extract<Job, { kind: "train" }>,
  { signal, listen }: Watching,
  intake: IntakeOptions,
): Promise<{ result: TrainResult }> {
  const { out } = settings;
  if (out !== undefined && !(typeof out === "string" && isRunFolder(out)))
    throw new ConfigError(
      `a run of a page is called by a name in ${runsFolder}, such as "${runsFolder}/mine", not ${JSON.stringify(out)}`,
      {
        path: "out",
      },
    );
  const files: string[] = [];
  for (const one of data) files.push(await stored(one, intake));
  const held = valid && (await stored(valid, intake));
  const own: TrainSettings = {
    ...settings,
    ...(held !== undefined && { valid: held }),
    device: nameOf(settings.device),
    cache: tokenised,
    signal,
    listen,
    warn: false,
  };
  return ended(train(files, own));
}

export const resumed = (
  { run, changes }: Extract<Job, { kind: "resume" }>,
  { signal, listen }: Watching,
): Promise<{ result: TrainResult }> => ended(resume(run, { ...changes, cache: tokenised, signal, listen, warn: false }));

/** A page's own processor is what runs call cpu. What was settled when the worker began is written down: bits depend on it. */
const nameOf = (device: Extract<Job, { kind: "train" }>["settings"]["device"] = "auto"): DeviceName =>
  device === "wasm" ? "cpu" : resolved(device);

async function ended(training: ReturnType<typeof train>): Promise<{ result: TrainResult }> {
  const run = await training;
  await run.release(); // whoever wants to use it opens it
  return { result: { ...run.result, run: resolve(run.result.run) } };
}
