import { type Command, Option } from "commander";
import { ConfigError } from "../base/errors.ts";
import type { NoiseKind } from "../graph/scope.ts";
import type { ModelConfig } from "../models/any.ts";
import { droppingOf, isOfText, type TrainingConfig } from "../runs/config.ts";
import { type CountedSettings, countedModel, usualLabels, usualVocab } from "../runs/counted-model.ts";
import { openModel } from "../runs/open-model.ts";
import { taskNames } from "../text/columns.ts";
import { modelFlags, typed, typedFlags } from "./flags.ts";
import { wholeNumber } from "./values.ts";

// Which model `qkv cost` counts: that of a run, or one by the flags and defaults of `qkv train`.

export const costModelFlags: readonly Option[] = [
  new Option("--preset <name>", "model sizes by name: gpt2, gpt3-175b, transformer-base, …"),
  new Option("--task <task>", "what the model is for (default by --model)").choices(taskNames),
  new Option("--vocab <n>", `entries of the vocabulary (default ${usualVocab}; a preset has its own)`).argParser(wholeNumber),
  new Option("--labels <n>", `labels of an encoder (default ${usualLabels})`).argParser(wholeNumber),
];

export interface CostModel {
  readonly config: ModelConfig;
  readonly training: TrainingConfig;
  readonly preset?: string;
  /** What a run drops by; left out where there is none yet. */
  readonly noise?: NoiseKind;
  /** What a run on a text reads in all its steps. */
  readonly tokens?: number;
}

export function costModel(run: string | undefined, command: Command): CostModel {
  if (run === undefined) {
    const chosen = typed(command, costModelFlags) as CountedSettings;
    return { ...countedModel(chosen, typed(command, modelFlags)), ...(chosen.preset !== undefined && { preset: chosen.preset }) };
  }
  const [own] = typedFlags(command, [...modelFlags, ...costModelFlags]);
  if (own !== undefined) throw new ConfigError(`a run has its own model, so ${own} has no meaning beside ${run}`);
  const { config } = openModel(run);
  const { model, training } = config;
  const read = training.steps * training.batch * training.accumulate * model.context;
  return { config: model, training, noise: droppingOf(training).by, ...(isOfText(config) && { tokens: read }) };
}
