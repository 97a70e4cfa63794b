import { type Architecture, isTransformer, type ModelName } from "../models/any.ts";
import { preset } from "../models/presets.ts";
import { usualThreads } from "../node/machine.ts";
import { type Task, type TrainingConfig, trainingConfig } from "./config.ts";
import { modelFor, trainingDefaults } from "./defaults.ts";
import { modelWith } from "./prepare.ts";

// A model without data, to count what it costs: by a preset, or by the settings and defaults of a training.

export const usualVocab = 256;
export const usualLabels = 2;

export interface CountedSettings {
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

export function countedModel(
  { preset: name, task: asked, vocab, labels = usualLabels }: CountedSettings,
  given: Readonly<Record<string, unknown>>,
  training: Partial<TrainingConfig> = {},
): { readonly config: Architecture; readonly training: TrainingConfig } {
  const { model: own, config: sizes } = name === undefined ? { model: undefined, config: { vocab: usualVocab } } : preset(name);
  const wanted = (given.model as ModelName | undefined) ?? own;
  const task = asked ?? taskOf[wanted ?? "decoder"];
  const config = modelWith(task, modelFor(task, wanted), { ...sizes, ...given }, { vocab: vocab ?? sizes.vocab, labels });
  const facts = { width: config.width, threads: usualThreads(), ...(isTransformer(config) && { context: config.context }) };
  return { config, training: trainingConfig(trainingDefaults(task, training, facts)) };
}
