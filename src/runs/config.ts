import * as z from "zod";
import type { ByteSource } from "../base/chance.ts";
import { ConfigError, type ErrorFacts, FormatError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { sourceSchema } from "../data/source.ts";
import type { NoiseKind } from "../graph/scope.ts";
import { hubRecordSchema } from "../hub/record.ts";
import { type ModelConfig, type ModelInput, modelConfig, modelNames, modelsFor } from "../models/any.ts";
import { between, codeOf, whole } from "../models/bounds.ts";
import type { Definition, OwnModel } from "../models/own.ts";
import { deviceNames } from "../node/devices.ts";
import { foreignTasks, taskNames } from "../text/columns.ts";
import { chatFormatSchema } from "../tokens/chat-template.ts";
import { optimizerNames } from "../training/optimizers.ts";
import { schedules } from "../training/schedule.ts";

// config.json: everything that is needed to build the model again and to go on with its training. Checked on the way in.

const most = 1e9;
const shareBelow1 = between(0, 1, "below");
const count = whole(1, most);
const rate = between(0, 1e6);

/** What can make a classifier's probabilities true: a temperature (Guo et al. 2017). */
export const calibrations = ["temperature", "none"] as const;

/** An adapter that is trained in the place of the weights; its targets are named one by one. */
const loraSchema = z.strictObject({
  rank: whole(1, 65_536),
  alpha: between(0, 1e6),
  dropout: shareBelow1,
  targets: z.array(z.string().min(1)).min(1),
});

const trainingSchema = z.strictObject({
  steps: count,
  /** The time that steps, and sizes that were not given, were chosen for when the run began; nothing depends on it any more. */
  minutes: between(0.01, 100_000).optional(),
  /** Examples, or windows, in one batch. */
  batch: whole(1, 1_000_000),
  lr: rate,
  minLr: rate,
  warmup: whole(0, most),
  schedule: z.enum(schedules),
  /** The share of the steps in which wsd falls; a fifth if left out. */
  decay: shareBelow1.optional(),
  optimizer: z.enum(optimizerNames),
  beta1: shareBelow1,
  beta2: shareBelow1,
  /** What is validated and shipped is the mean of the weights over about so many steps; the weights themselves, if left out or 0. */
  average: whole(0, most).optional(),
  /** Of Muon's matrices; 0.95 if left out. */
  momentum: shareBelow1.optional(),
  weightDecay: rate,
  /** Whether biases and scales decay too. */
  decayAll: z.boolean(),
  /** The largest norm of the gradient; 0 for any. */
  clip: rate,
  labelSmoothing: shareBelow1,
  accumulate: whole(1, 10_000),
  /** Whether what is accumulated are rows of one larger batch; batches with numbers of their own if left out, as before 0.3. */
  accumulates: z.literal("rows").optional(),
  seed: whole(0, Number.MAX_SAFE_INTEGER),
  threads: whole(1, 1024),
  /** What computes; the processor if left out, as before there was a choice. */
  device: z.enum(deviceNames).optional(),
  evalEvery: count,
  /** Held-out tokens that a validation scores; at the end all are, for the weights that were kept. Every validation scores all if left out. */
  evalTokens: count.optional(),
  saveEvery: count,
  /** How many checkpoints stay. */
  keep: whole(1, 10_000),
  /** Every so many steps the log has norms by layer; never if left out or 0. */
  partsEvery: whole(0, most).optional(),
  /** Validations without an improvement before training stops; 0 for any number. */
  patience: whole(0, most),
  /** How much each label counts, in their order; all the same if left out. */
  classWeights: z.array(between(0, 1e9)).optional(),
  /** What is fitted to the held-out part at the end, so that probabilities are true; nothing if left out. */
  calibrate: z.enum(calibrations).optional(),
  /** The loss of the log: `plain`, without label smoothing, as validation measures it; what is made small if left out, as before 0.2. */
  reports: z.literal("plain").optional(),
  /** Scopes of parameters that are not trained. */
  freeze: z.array(z.string().min(1)).optional(),
  /** Whether blocks are computed again for their gradients rather than kept. */
  checkpointBlocks: z.boolean().optional(),
  /** Whether the patterns of attention alone are. */
  recomputePattern: z.boolean().optional(),
  /** What dropout drops by: flags, made of quick bytes; `quick`, these bytes as they are; or bytes of Threefry alone if left out, as before 0.3. */
  noise: z.enum(["quick", "flags"]).optional(),
  /** LoRA: the weights stay those of the base, and an adapter beside them is trained; all is trained if left out. */
  lora: loraSchema.optional(),
});

/** The run whose weights were the start. */
const originSchema = z.strictObject({
  run: z.string(),
  /** SHA-256 of its model.safetensors. */
  sha256: z.string(),
  /** The step that these weights were of. */
  step: z.int().min(0),
  /** So many of the labels were known there; the others are new. */
  labels: z.int().min(0).optional(),
});

const runSchema = z.strictObject({
  format: z.literal(1),
  task: z.enum([...taskNames, ...foreignTasks]),
  model: z.record(z.string(), z.unknown()),
  /** Names of labels or tags, in the order of their scores. */
  labels: z.array(z.string()).optional(),
  tokenizer: z.strictObject({ kind: z.string(), sha256: z.string() }),
  /** How conversations are read; only of a run that was trained on some, or began with a model that knew how. */
  chat: chatFormatSchema.optional(),
  data: z.strictObject({
    source: sourceSchema,
    /** SHA-256 of all that is trained on and validated with. */
    sha256: z.string(),
    /** Texts in bytes, examples in number. */
    train: z.int().min(0),
    valid: z.int().min(0),
    /** Tokens of the longest example to train on, before it is cut. */
    longest: z.int().min(0).optional(),
  }),
  training: trainingSchema,
  from: originSchema.optional(),
  /** What a model from outside came with. */
  hub: hubRecordSchema.optional(),
});

export type Origin = z.output<typeof originSchema>;
export type TrainingConfig = z.output<typeof trainingSchema>;
export type RunConfig = Omit<z.output<typeof runSchema>, "model"> & { readonly model: ModelConfig };
export type { Task } from "../text/examples.ts";

export function trainingConfig(given: unknown): TrainingConfig {
  const result = trainingSchema.safeParse(given);
  if (result.success) return result.data;
  const { message, facts } = complaint(result.error, trainingSchema, ["training"]);
  throw new ConfigError(message, facts);
}

/** Reads config.json. Whatever is wrong with it is said with the place where it is. */
export function parseRunConfig(text: string, file: string, models: readonly Definition[] = []): RunConfig {
  const result = runSchema.safeParse(parseJson(text, file));
  if (!result.success) {
    const { message, facts } = complaint(result.error, runSchema);
    throw new FormatError(message, { ...facts, file });
  }
  const { model, ...rest } = result.data;
  const able: readonly unknown[] = rest.task === "embed" ? ["encoder"] : modelsFor(rest.task);
  if ((modelNames as readonly unknown[]).includes(model.model) && !able.includes(model.model))
    throw new FormatError(`a model called ${model.model} cannot do ${rest.task}`, { code: "config.task", ...placeOf(["task"]), file });
  const weights = rest.training.classWeights;
  if (weights && weights.length !== rest.labels?.length)
    throw new FormatError(`${weights.length} weights for ${rest.labels?.length ?? 0} labels; wanted one for each`, {
      code: "config",
      ...placeOf(["training", "classWeights"]),
      file,
    });
  try {
    return { ...rest, model: model.model === "own" ? ownModel(model, file, models) : modelConfig(model as unknown as ModelInput) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new FormatError(`${error.complaint}`, { ...error.facts, at: `config.${error.path}`, file, cause: error }); // a file has settings, never flags
  }
}

/** A model of one's own, made again by the program that knows it. */
function ownModel({ name, settings }: Readonly<Record<string, unknown>>, file: string, models: readonly Definition[]): OwnModel {
  const define = models.find(({ definition }) => definition === name);
  const known = models.length > 0 ? `; the program gave ${models.map(({ definition }) => `"${definition}"`).join(", ")}` : "";
  if (!define)
    throw new FormatError(
      `the model "${name}" is a program's own, and only that program can open it: open("…", { models: [its definition] })${known}`,
      { code: "config.unknown-name", ...placeOf(["model", "name"]), file },
    );
  return define.of(z.record(z.string(), z.unknown()).catch({}).parse(settings));
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
  } catch (cause) {
    throw new FormatError(`not JSON (${cause instanceof Error ? cause.message : cause})`, { file, cause });
  }
}

/** What is wrong with it, and where, counted from a place in config.json. */
function complaint(error: z.ZodError, schema: z.ZodObject, root: readonly string[] = []): { message: string; facts: ErrorFacts } {
  const issue = error.issues.find(({ code }) => code === "unrecognized_keys") ?? error.issues[0]; // a misspelt key is missing too
  const code = codeOf(issue);
  const path = [...root, ...issue.path];
  if (issue.code !== "unrecognized_keys") return { message: issue.message, facts: { code, ...placeOf(path) } };
  const [key] = issue.keys;
  const inner = issue.path.reduce<unknown>((at, part) => (at instanceof z.ZodObject ? at.shape[String(part)] : undefined), schema);
  const near = inner instanceof z.ZodObject ? suggest(key, Object.keys(inner.shape)) : "";
  return { message: `unknown key${near}`, facts: { code, ...placeOf([...path, key]) } };
}

const placeOf = (path: readonly PropertyKey[]) => ({ at: ["config", ...path].join("."), path: path.join(".") });

/** What a run drops by, and what that is made of. Runs of before go on as they began. */
export const droppingOf = ({ noise }: Pick<TrainingConfig, "noise">): { readonly source: ByteSource; readonly by: NoiseKind } => ({
  source: noise === undefined ? "threefry" : "quick",
  by: noise === "flags" ? "flags" : "bytes",
});

/** Whether the data is one text, counted in bytes, and not examples; runs of before tell their longest example only for some tasks. */
export const isOfText = ({ task, data }: Pick<RunConfig, "task" | "data">): boolean =>
  data.longest === undefined && !["classify", "tag", "translate"].includes(task);

export const runConfigText = (config: RunConfig): string => `${JSON.stringify(config, null, 2)}\n`;
