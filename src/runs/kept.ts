import { existsSync } from "node:fs";
import { NonFiniteError } from "../base/errors.ts";
import { atOnce } from "../base/turns.ts";
import { readSafetensorsHeader, weightsInFile } from "../disk/safetensors-file.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import type { Group } from "../training/group.ts";
import type { Scored } from "../training/score.ts";
import { readAdapter } from "./adapter.ts";
import { type OpenRun, paths, shippedFile } from "./folder.ts";
import { writingModel } from "./saver.ts";

// The weights that a run keeps, once it has come to its end: while it trained, only a part of what is held out told how good they are.

export interface KeptScore {
  /** The step that they are of. */
  readonly step: number;
  readonly loss: number;
  /** How many tokens it is of; only where it has just been computed. */
  readonly targets?: number;
}

/**
 * Scores them over all that is validated with, and writes that into their file. What the file says already is not computed again; a kill before that leaves a
 * file whose loss is of a part, and says so. `weights` are overwritten by those of the file: training is over.
 */
export async function scoreKept(
  { folder, config }: Pick<OpenRun, "folder" | "config">,
  weights: ParameterBuffer,
  group: Group,
  score: (weights: ParameterBuffer) => Promise<Scored>,
): Promise<KeptScore | undefined> {
  const file = shippedFile(folder);
  const metadata = group.leads && existsSync(file) ? readSafetensorsHeader(file)?.metadata : undefined;
  const said = ["step", "validLoss", "validTokens"].map((name) => Number(metadata?.get(name) ?? Number.NaN));
  const [step, known, part] = JSON.parse(await group.told(JSON.stringify(said))) as (number | null)[]; // JSON has null for NaN
  if (step === null || known === null) return undefined;
  if (part === null) return { step, loss: known };
  if (group.leads) weights.data.set(keptWeights(folder, config, weights));
  await group.broadcast(weights.data as Float32Array);
  const { loss, targets } = await score(weights);
  if (!Number.isFinite(loss)) throw new NonFiniteError(`the validation loss is ${loss}`, { step });
  if (group.leads) atOnce(writingModel(folder, config, step, weights, loss));
  return { step, loss, targets };
}

function keptWeights(
  folder: string,
  { model, training: { lora }, hub }: OpenRun["config"],
  { layout }: ParameterBuffer,
): ParameterBuffer["data"] {
  if (lora) return readAdapter(folder, { model, lora, hub }).data;
  return weightsInFile(paths(folder).model, layout).buffer.data;
}
