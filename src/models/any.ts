import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { TensorFunction } from "../graph/graph.ts";
import type { Task } from "../text/columns.ts";
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
import { rnnLanguageModelLoss, rnnLoss } from "./rnn.ts";

// Any of the four architectures, told apart by `model`.

export const modelNames = ["decoder", "encoder", "encoder-decoder", "rnn"] as const;
export type ModelName = (typeof modelNames)[number];

/** The models that can do a task, the usual one first. */
export const modelsFor = (task: Task): ModelName[] => modelNames.filter((name) => (modelTasks[name] as readonly Task[]).includes(task));

export type ModelConfig = DecoderConfig | EncoderConfig | EncoderDecoderConfig | RnnConfig;

type Given<Name extends ModelName, Input> = Input & { readonly model: Name };
export type ModelInput =
  | Given<"decoder", DecoderInput>
  | Given<"encoder", EncoderInput>
  | Given<"encoder-decoder", EncoderDecoderInput>
  | Given<"rnn", RnnInput>;

/** A checked config of whichever model it names. */
export function modelConfig(given: ModelInput): ModelConfig {
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
  }
}

/** What a model is for. */
export function taskOf(config: ModelConfig): Task {
  switch (config.model) {
    case "decoder":
      return "lm";
    case "encoder-decoder":
      return "translate";
    case "encoder":
    case "rnn":
      return config.task;
  }
}

/** RNNs are unrolled, so every length needs a session of its own; the others take any length in one. */
export const takesAnyLength = (config: ModelConfig): boolean => config.model !== "rnn";

/** Whether a model reads a source and writes something else. */
export const readsSource = (config: ModelConfig): boolean =>
  config.model === "encoder-decoder" || (config.model === "rnn" && config.task === "translate");
