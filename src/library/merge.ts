import { ConfigError } from "../base/errors.ts";
import { call, sentence, setting } from "../base/sentence.ts";
import { readSafetensorsHeader } from "../disk/safetensors-file.ts";
import type { RunConfig } from "../runs/config.ts";
import { type OpenRun, runWeights, shippedFile } from "../runs/folder.ts";
import { openModel } from "../runs/open-model.ts";
import { modelWeights } from "../runs/weights.ts";
import { withAdapter } from "../runs/with-adapter.ts";
import { writeAsRun } from "./import.ts";

export interface MergeOptions {
  /** The run folder that is written, whole or not at all. */
  readonly out: string;
  /** Replace a run that is there. */
  readonly overwrite?: boolean;
  /** An adapter to put into the model; if left out, the model is a run that was trained with LoRA, and its own is meant. */
  readonly adapter?: string;
}

export interface Merged {
  readonly run: string;
  /** What the adapter stood beside. */
  readonly base: string;
  readonly adapter: string;
  readonly parameters: number;
}

/** Puts an adapter into its base: a run with whole weights, which needs neither of them any more. */
export async function merge(folder: string, { adapter, ...options }: MergeOptions): Promise<Merged> {
  const run = openModel(folder);
  const { lora } = run.config.training;
  if (adapter === undefined && !lora)
    throw new ConfigError(
      sentence`${folder} is no adapter, so there is nothing to put into it; give one with ${setting("adapter")}, or train one: ${call("train", "<data>", { from: folder, lora: 8 })}`,
      { code: "config.conflict", path: "adapter" },
    );
  const base = adapter === undefined ? (run.config.from?.run ?? "") : folder;
  const merged = adapter === undefined ? run : withAdapter(run, adapter);
  const weights = adapter === undefined ? modelWeights(run) : runWeights(merged);
  const parameters = await writeAsRun({ ...merged, config: wholeConfig(run) }, weights, { ...options, metadata: metadataOf(run) });
  weights.release?.();
  return { run: options.out, base, adapter: adapter ?? folder, parameters };
}

/** The config of a run whose weights are whole. */
function wholeConfig({ config }: OpenRun): RunConfig {
  const { lora: _, ...training } = config.training;
  return { ...config, training };
}

/** The step that the weights are of, and their validation loss, as they stand in the run's own file. */
function metadataOf({ folder, outside }: OpenRun): Record<string, string> {
  const known = outside ? undefined : readSafetensorsHeader(shippedFile(folder))?.metadata;
  return Object.fromEntries(["step", "validLoss"].flatMap((name) => (known?.has(name) ? [[name, known.get(name) as string]] : [])));
}
