import { FormatError, NonFiniteError } from "../base/errors.ts";
import type { Checkpoints } from "../disk/checkpoints.ts";
import { writingDurably } from "../disk/files.ts";
import { readSafetensorsHeader } from "../disk/safetensors-file.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import type { Progress } from "../training/fit.ts";
import { type Optimizer, type WholeState, wholeState } from "../training/optimizer.ts";
import { parametersAsTensors } from "../weights/load.ts";
import { safetensorsParts } from "../weights/safetensors.ts";
import { writingAdapter } from "./adapter.ts";
import type { RunConfig } from "./config.ts";
import { paths, shippedFile } from "./folder.ts";
import type { Log } from "./log.ts";
import { checkpointFiles } from "./state.ts";

interface Parts {
  readonly folder: string;
  readonly config: RunConfig;
  readonly optimizer: Optimizer;
  readonly checkpoints: Checkpoints;
  readonly log: Log;
  /** Whether there is validation data to choose the best by. */
  readonly validates: boolean;
}

/**
 * Writes checkpoints and, after each that is the best so far, the file to ship. An improvement is always saved in a checkpoint first, so
 * the file never comes from beyond the latest checkpoint.
 */
export class Saver {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Work that can be left between two pieces, as long as nobody trains meanwhile. */
  *save(progress: Progress, state: WholeState = wholeState(this.#parts.optimizer)): Generator<void, void> {
    const { optimizer, checkpoints, log, config } = this.#parts;
    const { steps, weights } = optimizer;
    const { data } = weights;
    for (let at = 0; at < data.length; at += 2 ** 20) {
      if (!areFinite(data, at, Math.min(at + 2 ** 20, data.length)))
        throw new NonFiniteError("the weights are not finite any more", { step: steps });
      yield;
    }
    yield* checkpoints.saving(steps, checkpointFiles({ steps, weights, state }, { progress, logBytes: log.sync() }));
    if (this.#isBest(progress)) yield* this.#writeModel(progress);
    checkpoints.prune(config.training.keep);
  }

  /** A kill between a checkpoint and the file to ship leaves an older file; what is missing are the checkpoint's own weights. */
  *repairModel(progress: Progress): Generator<void, void> {
    const { folder, optimizer } = this.#parts;
    if (this.#isBest(progress) && writtenStep(shippedFile(folder)) !== optimizer.steps) yield* this.#writeModel(progress);
  }

  /** Without a validation, or before the first, the last weights are the best. */
  #isBest({ bestLoss, bestStep }: Progress): boolean {
    return !this.#parts.validates || !Number.isFinite(bestLoss) || bestStep === this.#parts.optimizer.steps;
  }

  *#writeModel(progress: Progress): Generator<void, void> {
    const { folder, config, optimizer } = this.#parts;
    const { evalTokens } = config.training;
    yield* writingModel(folder, config, optimizer.steps, optimizer.shipped, progress.bestLoss, evalTokens);
  }
}

/** x − x is 0 for every number but NaN and infinities. A thirtieth of the time of `every(Number.isFinite)`. */
function areFinite(data: ParameterBuffer["data"], from: number, to: number): boolean {
  let sum = 0;
  for (let i = from; i < to; i++) sum += data[i] - data[i];
  return sum === 0;
}

/** The file to ship: weights, the step that they are of, and their validation loss if it is known, with the tokens that it is of where they are a part. */
export function* writingModel(
  folder: string,
  { model, training: { lora }, from, hub }: RunConfig,
  step: number,
  weights: ParameterBuffer,
  validLoss: number,
  validTokens?: number,
): Generator<void, void> {
  const known: [string, string][] = [
    ["validLoss", `${validLoss}`],
    ...(validTokens ? [["validTokens", `${validTokens}`] as [string, string]] : []),
  ];
  const metadata = { format: "qkv", step: `${step}`, ...(Number.isFinite(validLoss) && Object.fromEntries(known)) };
  if (lora) {
    yield* writingAdapter(folder, weights, { model, lora, hub, base: from?.run ?? "" }, metadata);
    return;
  }
  yield* writingDurably(paths(folder).model, safetensorsParts(parametersAsTensors(weights), metadata));
}

/** The step of the weights in a file; none if there is no file, or a damaged one. */
function writtenStep(file: string): number | undefined {
  try {
    return Number(readSafetensorsHeader(file)?.metadata.get("step"));
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}
