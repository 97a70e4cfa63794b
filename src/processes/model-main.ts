import { deviceOf } from "../node/devices.ts";
import { usualThreads } from "../node/machine.ts";
import { Desk } from "../protocol/desk.ts";
import type { FromModel, ToModel } from "../protocol/messages.ts";
import { toldError } from "../protocol/words.ts";
import { openModel } from "../runs/open-model.ts";
import { trainedParts } from "../runs/weights.ts";
import { withAdapter } from "../runs/with-adapter.ts";
import { TrainedModel } from "../trained/trained.ts";
import type { ModelSettings } from "./model-settings.ts";

// The child process that computes one model. It is asked over the pipe to its parent, and ends with it.

const settings = JSON.parse(process.argv[2]) as ModelSettings;

const tell = (said: readonly FromModel[]): void => {
  if (process.connected) process.send?.(said);
};

process.on("disconnect", () => process.exit(0));
// A Ctrl-C goes to everybody in the terminal; when this process ends is for its parent to say.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

function opened({ folder, name, adapter, threads = usualThreads(), device: wanted, precision }: ModelSettings): TrainedModel {
  const run = openModel(folder);
  const device = deviceOf(wanted, { threads, ...(precision && { precision }) });
  return new TrainedModel(trainedParts(adapter === undefined ? run : withAdapter(run, adapter), device, false, name));
}

const collect = (globalThis as { gc?: () => void }).gc;
let resting: ReturnType<typeof setTimeout>[] = [];

/**
 * Memory of rows that have gone is given back when nothing was under way for a second: a collector that sees no work comes too late. After a
 * minute nobody waits for what beginnings were kept for, either.
 */
function rest(desk: Desk): void {
  for (const timer of resting) clearTimeout(timer);
  const free = (forget: boolean) => () => {
    if (desk.busy) return;
    if (forget) desk.forget();
    collect?.();
  };
  resting = [setTimeout(free(false), 1000), setTimeout(free(true), 60_000)];
}

try {
  const trained = opened(settings);
  process.once("exit", () => void trained.release());
  const desk: Desk = new Desk(trained, { ...settings, tell, memory: () => process.memoryUsage.rss(), idle: () => rest(desk) });
  await desk.warmUp();
  collect?.();
  process.on("message", (message) => desk.hear(message as ToModel));
  tell([{ ready: desk.facts, load: desk.load }]);
} catch (error) {
  process.send?.([{ broken: toldError(error) }] satisfies FromModel[], () => process.exit(1));
}
