import * as z from "zod";
import { RunError } from "../base/errors.ts";
import { atOnce } from "../base/turns.ts";
import type { Checkpoint } from "../disk/checkpoints.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";
import { noProgress, type Progress } from "../training/fit.ts";
import { averagedName, type Optimizer, type WholeState, wholeState } from "../training/optimizer.ts";
import { loadParameters, parametersAsTensors } from "../weights/load.ts";
import { readSafetensors, safetensorsParts } from "../weights/safetensors.ts";
import type { TrainingConfig } from "./config.ts";

// What a checkpoint holds: weights, what the optimizer remembers, and how far everything is. Randomness needs nothing: it follows from the step.

const stateSchema = z.strictObject({
  step: z.int().min(0),
  /** The best validation so far; null before the first. */
  bestLoss: z.number().nullable(),
  bestStep: z.int().min(0),
  waited: z.int().min(0),
  /** How long the log is. */
  logBytes: z.int().min(0),
});

export interface Position {
  readonly progress: Progress;
  readonly logBytes: number;
}

const stateName = "state.json";
export const weightsName = "weights.safetensors";
const optimizerName = "optimizer.safetensors";

/** What there is to save: an optimizer that moves all, or the parts of one with the state of all ranks; before its first step it remembers nothing. */
type Saved = Optimizer | (Pick<Optimizer, "steps" | "weights"> & { readonly state: WholeState });

/** The files of a checkpoint: everything that an exact resume needs. */
export function checkpointFiles(
  optimizer: Saved,
  { progress = noProgress, logBytes = 0 }: Partial<Position> = {},
): Map<string, readonly Uint8Array[]> {
  const { bestLoss, bestStep, waited } = progress;
  const state = { step: optimizer.steps, bestLoss: Number.isFinite(bestLoss) ? bestLoss : null, bestStep, waited, logBytes };
  const whole = "gradients" in optimizer ? wholeState(optimizer) : optimizer.state;
  const remembered = [...whole].flatMap(([slot, buffer]) =>
    [...parametersAsTensors(buffer)].map(([name, array]) => [`${slot}/${name}`, array] as const),
  );
  return new Map([
    [weightsName, safetensorsParts(parametersAsTensors(optimizer.weights))],
    [optimizerName, safetensorsParts(remembered)],
    [stateName, [new TextEncoder().encode(`${JSON.stringify(state)}\n`)]],
  ]);
}

/** The checkpoint of a run that begins with these weights. */
export const startFiles = (weights: ParameterBuffer): Map<string, readonly Uint8Array[]> =>
  checkpointFiles({ steps: 0, weights, state: new Map() }, { progress: noProgress, logBytes: 0 });

/** The weights of a checkpoint alone; their mean, where the run keeps one. */
export function checkpointWeights(
  { folder, read }: Pick<Checkpoint, "folder" | "read">,
  layout: ParameterLayout,
  { average = 0 }: Pick<TrainingConfig, "average"> = {},
): ParameterBuffer {
  const where = `${folder}/${weightsName}`;
  const buffer = new ParameterBuffer(layout);
  loadParameters(buffer, readSafetensors(read(weightsName), where).tensors, where);
  if (average === 0) return buffer;
  for (const [name, { data }] of readSafetensors(read(optimizerName), `${folder}/${optimizerName}`).tensors) {
    const own = name.startsWith(`${averagedName}/`) ? buffer.views.get(name.slice(averagedName.length + 1)) : undefined;
    own?.data.set(data as never);
  }
  return buffer;
}

/** Puts a checkpoint back into an optimizer. */
export const restore = (checkpoint: Checkpoint, optimizer: Optimizer): Position => atOnce(restoring(checkpoint, optimizer));

/** The same as work that can be left between two pieces. What it remembers goes where `whole` is, the optimizer itself if left out. */
export function* restoring(
  checkpoint: Checkpoint,
  optimizer: Optimizer,
  whole: WholeState = wholeState(optimizer),
): Generator<void, Position> {
  const where = (name: string) => `${checkpoint.folder}/${name}`;
  const parsed = stateSchema.safeParse(JSON.parse(new TextDecoder().decode(checkpoint.read(stateName))));
  if (!parsed.success) throw new RunError(`${where(stateName)} does not say how far the run is (${parsed.error.issues[0].message})`);
  const weights = readSafetensors(yield* checkpoint.reading(weightsName), where(weightsName));
  loadParameters(optimizer.weights, weights.tensors, where(weightsName));
  const { tensors } = readSafetensors(yield* checkpoint.reading(optimizerName), where(optimizerName));
  for (const [slot, buffer] of parsed.data.step === 0 ? [] : whole) {
    const own = [...tensors]
      .filter(([name]) => name.startsWith(`${slot}/`))
      .map(([name, array]) => [name.slice(slot.length + 1), array] as const);
    loadParameters(buffer, new Map(own), where(optimizerName));
  }
  const { step, bestLoss, bestStep, waited, logBytes } = parsed.data;
  optimizer.steps = step;
  return { progress: { ...noProgress, bestLoss: bestLoss ?? noProgress.bestLoss, bestStep, waited }, logBytes };
}
