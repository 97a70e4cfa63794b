import { existsSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { resume, type TrainSettings, train } from "../library/train.ts";
import { type DeviceName, resolved } from "../node/devices.ts";
import type { RunEvent, TrainResult } from "../runs/drive.ts";
import type { Home } from "./home.ts";
import { type IntakeOptions, safeName, stored } from "./intake.ts";
import type { GivenFile, Job } from "./messages.ts";
import { atSettings } from "./setting-path.ts";

// Training in a page is training: data in files, a run folder, checkpoints.

interface Watching {
  readonly signal: AbortSignal;
  readonly listen: (event: RunEvent) => unknown;
}

export async function trained(
  work: Extract<Job, { kind: "train" }>,
  { signal, listen }: Watching,
  intake: IntakeOptions,
): Promise<{ result: TrainResult }> {
  const { files, settings } = await ownSettings(work, intake);
  const out = settings.out ?? freeFolder(work.data[0], intake.home);
  return atSettings(() => ended(train(files, { ...settings, out, signal, listen })));
}

/** Data that lies here, and what it is trained with. */
export async function ownSettings(
  { data, valid, settings }: Pick<Extract<Job, { kind: "train" }>, "data" | "valid" | "settings">,
  intake: IntakeOptions,
  take = stored,
): Promise<{ readonly files: readonly string[]; readonly settings: TrainSettings }> {
  const { home } = intake;
  const files: string[] = [];
  for (const one of data) files.push(await take(one, intake));
  const held = valid && (await take(valid, intake));
  const own: TrainSettings = {
    ...(home.threads !== undefined && { threads: home.threads }),
    ...settings,
    valid: held, // never a path of the page's
    device: nameOf(settings.device, home),
    cache: home.cache,
    warn: false,
  };
  return { files, settings: own };
}

export const resumed = (
  { run, changes }: Extract<Job, { kind: "resume" }>,
  { signal, listen }: Watching,
  { home: { cache } }: IntakeOptions,
): Promise<{ result: TrainResult }> => ended(resume(run, { ...changes, cache, signal, listen, warn: false }));

/** A page's own processor is what runs call cpu. What was settled when the worker began is written down: bits depend on it. */
const nameOf = (device: Extract<Job, { kind: "train" }>["settings"]["device"], home: Home): DeviceName | undefined => {
  const wanted = device ?? home.device;
  return wanted === "wasm" ? "cpu" : wanted && resolved(wanted);
};

/** A run without a name is called after its data: where the library would put it, if that is here, and else where nothing is yet. */
function freeFolder(data: GivenFile | undefined, { runs }: Home): string | undefined {
  if (resolve("runs") === runs) return undefined;
  const given = (data && ("file" in data ? data.file.name : "name" in data ? data.name : undefined)) ?? "run";
  const name = safeName(given.slice(0, given.length - extname(given).length)).replace(/^\.+/, "") || "run";
  for (let number = 1; ; number++) {
    const folder = join(runs, number === 1 ? name : `${name}-${number}`);
    if (!existsSync(folder)) return folder;
  }
}

async function ended(training: ReturnType<typeof train>): Promise<{ result: TrainResult }> {
  const run = await training;
  await run.release(); // whoever wants to use it opens it
  return { result: { ...run.result, run: resolve(run.result.run) } };
}
