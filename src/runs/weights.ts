import { existsSync } from "node:fs";
import { FormatError, RunError } from "../base/errors.ts";
import { sentence } from "../base/sentence.ts";
import { filesHash } from "../disk/files.ts";
import type { Device } from "../runtime/device.ts";
import type { TrainedParts } from "../trained/trained.ts";
import type { Weights } from "../weights/weights.ts";
import { loraWeights } from "./adapter.ts";
import { noWeights, type OpenRun, paths, runWeights } from "./folder.ts";
import { openModel } from "./open-model.ts";
import { partsOf } from "./parts.ts";

// The weights of a model, wherever they lie: in its own file, or in that of another with an adapter beside them.

/** What an adapter stands beside: another run or somebody else's folder, which must be what it was. */
export function baseOf({ folder, config: { from } }: OpenRun): OpenRun {
  if (!from)
    throw new FormatError("an adapter needs what it stands beside, and nothing is named", {
      at: "config.from",
      file: paths(folder).config,
    });
  const cure = sentence`put it back, or write where it is now into config.json (from.run)`;
  if (!existsSync(from.run))
    throw new RunError(sentence`${folder} is an adapter of ${from.run}, which is not there any more; ${cure}`, { code: "run.missing" });
  const base = openModel(from.run);
  const files = base.outside?.files ?? [paths(from.run).model];
  if (files.some((file) => !existsSync(file))) throw noWeights(from.run);
  if (filesHash(files) !== from.sha256)
    throw new RunError(
      sentence`${folder} is an adapter of the weights that ${from.run} had, and they have changed since (their SHA-256 was ${from.sha256.slice(0, 12)}…); ${cure}`,
      { code: "run.changed" },
    );
  return base;
}

/** The weights to use: the run's own, or those of its base with its adapter in them. */
export function modelWeights(run: OpenRun): Weights {
  const { model, training, hub } = run.config;
  if (run.outside || !training.lora) return runWeights(run);
  return loraWeights(run.folder, baseWeights(run), { model, lora: training.lora, hub });
}

/** The weights that an adapter stands beside. */
export const baseWeights = (run: OpenRun): Weights => runWeights(baseOf(run));

/** A run as a trained model, wherever its weights lie. */
export const trainedParts = (run: OpenRun, device: Device, warn?: TrainedParts["warn"], name?: string): TrainedParts =>
  partsOf(run, modelWeights, device, warn, name);
