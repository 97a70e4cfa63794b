import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { TensorFunction } from "../graph/graph.ts";
import type { ModelTask, Task } from "../text/columns.ts";
import {
  type DecoderConfig,
  type DecoderInput,
  decoderConfig,
  type EncoderConfig,
  type EncoderDecoderConfig,
  type EncoderDecoderInput,
  type EncoderInput,
  encoderConfig,
  encoderDecoderConfig,
  modelTasks,
  type RnnConfig,
  type RnnInput,
  rnnConfig,
} from "./config.ts";
import { decoderLoss } from "./decoder.ts";
import { encoderLoss } from "./encoder.ts";
import { encoderDecoderLoss } from "./encoder-decoder.ts";
import type { LossOptions } from "./losses.ts";
import type { OwnModel } from "./own.ts";
import { rnnLanguageModelLoss, rnnLoss } from "./rnn.ts";

// Any of the four architectures, or a model of one's own, told apart by `model`. What is asked of every model is asked here.

export const modelNames = ["decoder", "encoder", "encoder-decoder", "rnn"] as const;
export type ModelName = (typeof modelNames)[number];

/** The models that can do a task, the usual one first. */
export const modelsFor = (task: Task): ModelName[] =>
  modelNames.filter((name) => (modelTasks[name] as readonly ModelTask[]).includes(task));

/** The four architectures that have a config. */
export type Architecture = DecoderConfig | EncoderConfig | EncoderDecoderConfig | RnnConfig;
export type ModelConfig = Architecture | OwnModel;

type Given<Name extends ModelName, Input> = Input & { readonly model: Name };
export type ModelInput =
  | Given<"decoder", DecoderInput>
  | Given<"encoder", EncoderInput>
  | Given<"encoder-decoder", EncoderDecoderInput>
  | Given<"rnn", RnnInput>;

/** A checked config of whichever model it names. */
export function modelConfig(given: ModelInput): Architecture {
  switch (given.model) {
    case "decoder":
      return decoderConfig(given);
    case "encoder":
      return encoderConfig(given);
    case "encoder-decoder":
      return encoderDecoderConfig(given);
    case "rnn":
      return rnnConfig(given);
    default: {
      const name = String((given as { model?: unknown }).model);
      throw new ConfigError(`there is no model called "${name}"${suggest(name, modelNames) || `; there are ${modelNames.join(", ")}`}`, {
        code: "config.unknown-name",
        at: "config.model",
        path: "model.model",
      });
    }
  }
}

/** What a model is trained on; its outputs are `loss` and `scores`. */
export function modelLoss(config: ModelConfig, options: LossOptions = {}): TensorFunction {
  switch (config.model) {
    case "decoder":
      return decoderLoss(config, options);
    case "encoder":
      return encoderLoss(config, options);
    case "encoder-decoder":
      return encoderDecoderLoss(config, options);
    case "rnn":
      return config.task === "lm" ? rnnLanguageModelLoss(config, options) : rnnLoss(config, options);
    case "own":
      return config.loss(options);
  }
}

/** What a model is for. */
export function taskOf(config: ModelConfig): ModelTask {
  switch (config.model) {
    case "decoder":
      return "lm";
    case "encoder-decoder":
      return "translate";
    case "encoder":
    case "rnn":
    case "own":
      return config.task;
  }
}

/** The same where data of the task is wanted; what only other people's models do has none here. */
export function dataTask(task: ModelTask): Task {
  if (task !== "embed") return task;
  throw new ConfigError(`there is no data for the task ${task} that it could be trained or measured with here`, { code: "config.task" });
}

/** Whether its texts have any number of labels, each there or not. */
export const givesSeveral = (config: ModelConfig): boolean => config.model === "encoder" && config.labelling === "several";

/** Whether a text has a token in front that gathers it. */
export const hasClassToken = (config: ModelConfig): boolean =>
  config.model === "encoder" && (config.task === "classify" || config.task === "embed") && config.pool === "class";

/** What is unrolled needs a session of its own for every length, as some RNNs are; the others take any length in one. */
export function takesAnyLength(config: ModelConfig): boolean {
  if (config.model === "own") return !config.unrolled;
  return config.model !== "rnn" || config.recurrence === "scanned";
}

/** Whether a model reads a source and writes something else. */
export const readsSource = (config: ModelConfig): boolean => taskOf(config) === "translate";

/** One of the four architectures, where something is known of them alone. */
export function architectureOf(model: ModelConfig, what: string): Architecture {
  if (model.model !== "own") return model;
  throw new ConfigError(
    `${what} is for models of qkv, and ${described(model)} is one of your own; its taps and its cost can be looked at`,
    {
      code: "config.task",
    },
  );
}

/** One with blocks of attention. */
export type Transformer = Exclude<Architecture, RnnConfig>;

/** Whether it is one of the three that are made of blocks. */
export const isTransformer = (model: ModelConfig): model is Transformer => model.model !== "rnn" && model.model !== "own";

export function transformerOf(model: ModelConfig, what: string, lacks: string): Transformer {
  const one = architectureOf(model, what);
  if (one.model !== "rnn") return one;
  throw new ConfigError(`${described(one)} ${lacks}; use a Transformer`);
}

/** Whether a model says what comes next in a text, or in the target of a source. */
export const writes = (model: ModelConfig): boolean =>
  ["lm", "translate"].includes(taskOf(model)) && !(model.model === "own" && model.reads === "other");

/** A model in two or three words. */
export function described(model: ModelConfig): string {
  switch (model.model) {
    case "decoder":
      return "a decoder";
    case "encoder":
      return "an encoder";
    case "encoder-decoder":
      return "an encoder–decoder";
    case "rnn":
      return model.task === "lm" ? "an RNN language model" : `an RNN encoder–decoder ${model.attention ? "with" : "without"} attention`;
    case "own":
      return `the model "${model.name}"`;
  }
}
