import { type Command, Option } from "commander";
import { ConfigError } from "../base/errors.ts";
import type { ModelConfig, ModelName } from "../models/any.ts";
import { preset } from "../models/presets.ts";
import { usualThreads } from "../node/machine.ts";
import type { Task, TrainingConfig } from "../runs/config.ts";
import { modelFor, trainingDefaults } from "../runs/defaults.ts";
import { openModel } from "../runs/open-model.ts";
import { modelWith } from "../runs/prepare.ts";
import { taskNames } from "../text/columns.ts";
import { modelFlags, typed, typedFlags } from "./flags.ts";
import { wholeNumber } from "./values.ts";

// Which model `qkv cost` counts: that of a run, or one by the flags and defaults of `qkv train`.

const usualVocab = 256;
const usualLabels = 2;

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
}

interface Chosen {
  readonly preset?: string;
  readonly task?: Task;
  readonly vocab?: number;
  readonly labels?: number;
}

const taskOf: Readonly<Record<ModelName, Task>> = {
  decoder: "lm",
  encoder: "classify",
  "encoder-decoder": "translate",
  rnn: "translate",
};

export function costModel(run: string | undefined, command: Command): CostModel {
  if (run === undefined) return modelOfFlags(typed(command, costModelFlags) as Chosen, typed(command, modelFlags));
  const [own] = typedFlags(command, [...modelFlags, ...costModelFlags]);
  if (own !== undefined) throw new ConfigError(`a run has its own model, so ${own} has no meaning beside ${run}`);
  const { model, training } = openModel(run).config;
  return { config: model, training };
}

function modelOfFlags(
  { preset: name, task: asked, vocab, labels = usualLabels }: Chosen,
  flags: Readonly<Record<string, unknown>>,
): CostModel {
  const { model: own, config: sizes } = name === undefined ? { model: undefined, config: { vocab: usualVocab } } : preset(name);
  const wanted = (flags.model as ModelName | undefined) ?? own;
  const task = asked ?? taskOf[wanted ?? "decoder"];
  const config = modelWith(task, modelFor(task, wanted), { ...sizes, ...flags }, { vocab: vocab ?? sizes.vocab, labels });
  const training = trainingDefaults(task, {}, { width: config.width, threads: usualThreads() });
  return { config, training, ...(name !== undefined && { preset: name }) };
}
