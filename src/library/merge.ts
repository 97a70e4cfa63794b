import { ConfigError } from "../base/errors.ts";
import { call, sentence, setting } from "../base/sentence.ts";
import { isHubFolder } from "../disk/hub-kind.ts";
import { readSafetensorsHeader } from "../disk/safetensors-file.ts";
import { modelLoss } from "../models/any.ts";
import type { RunConfig } from "../runs/config.ts";
import { type OpenRun, runWeights, shippedFile } from "../runs/folder.ts";
import { openModel } from "../runs/open-model.ts";
import { modelWeights } from "../runs/weights.ts";
import { withAdapter } from "../runs/with-adapter.ts";
import { parametersOf } from "../runtime/compile.ts";
import { exportModel } from "./export.ts";
import { writeAsRun } from "./import.ts";
import { Trained } from "./trained.ts";

/** Which adapter, and where to. */
export interface MergeOptions {
  /** The folder that is written, whole or not at all: a run, or one of Hugging Face where the base is one. */
  readonly out: string;
  /** Replace a folder of that kind that is there. */
  readonly overwrite?: boolean;
  /** An adapter to put into the model; if left out, the model is a run that was trained with LoRA, and its own is meant. */
  readonly adapter?: string;
}

/** What was written. */
export interface Merged {
  readonly folder: string;
  readonly kind: "run" | "hf";
  /** What the adapter stood beside. */
  readonly base: string;
  readonly adapter: string;
  readonly parameters: number;
}

/** Puts an adapter into its base: a model with whole weights, of the base's kind, which needs neither of them any more. */
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
  const config = wholeConfig(run);
  const done = { folder: options.out, base, adapter: adapter ?? folder };
  if (base !== "" && isHubFolder(base)) {
    const weights = () => (adapter === undefined ? modelWeights(run) : runWeights(merged));
    const trained = new Trained({ ...merged, config, outside: { files: [], weights } });
    await exportModel(trained, { ...options, to: "hf" }).finally(() => trained.release());
    return { ...done, kind: "hf", parameters: parametersOf(modelLoss(config.model)).total };
  }
  const weights = adapter === undefined ? modelWeights(run) : runWeights(merged);
  const parameters = await writeAsRun({ ...merged, config }, weights, { ...options, metadata: metadataOf(run) });
  weights.release?.();
  return { ...done, kind: "run", parameters };
}

/** The config of a run whose weights are whole. */
function wholeConfig({ config }: OpenRun): RunConfig {
  const { lora: _, ...training } = config.training;
  return { ...config, training };
}

/** The step that the weights are of, and their validation loss, as they stand in the run's own file. */
function metadataOf({ folder, outside }: OpenRun): Record<string, string> {
  const known = outside ? undefined : readSafetensorsHeader(shippedFile(folder))?.metadata;
  return Object.fromEntries(
    ["step", "validLoss", "validTokens"].flatMap((name) => (known?.has(name) ? [[name, known.get(name) as string]] : [])),
  );
}
