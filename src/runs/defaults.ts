import { ConfigError } from "../base/errors.ts";
import { either, sentence, setting } from "../base/sentence.ts";
import { type ModelName, modelsFor } from "../models/any.ts";
import type { DeviceName } from "../runtime/provider.ts";
import type { TokenizerKind } from "../tokens/tokenizer.ts";
import { usualMomentum } from "../training/muon.ts";
import { usualDecay } from "../training/schedule.ts";
import type { Task, TrainingConfig } from "./config.ts";

// What is used where nothing else is said. The language model's settings are measured: see docs/training.md.

/** The model for a task, or the one that was asked for if it can do the task. */
export function modelFor(task: Task, wanted?: ModelName): ModelName {
  const able = modelsFor(task);
  if (wanted === undefined) return able[0];
  if (able.includes(wanted)) return wanted;
  const use = either(able.map((name) => setting("model", name)));
  throw new ConfigError(sentence`${setting("model", wanted)} cannot do ${setting("task", task)}; use ${use}`, {
    code: "config.task",
    path: "model.model",
  });
}

export const tokenizerFor: Readonly<Record<Task, TokenizerKind>> = {
  lm: "char",
  classify: "word",
  tag: "word",
  translate: "bpe",
  mlm: "wordpiece",
};

/** What learns best of the choices that there are: see docs/training.md for the figures. */
const choices = { positions: "rotary", norm: "rms", normPlace: "pre", activation: "swiglu" } as const;

/** Sizes and choices of a model, where they differ from those of its config. */
export function modelDefaults(task: Task, model: ModelName, device: DeviceName = "cpu"): Readonly<Record<string, unknown>> {
  // Devices beside the processor have no loops: what is written out there gets texts of few lengths.
  const recurrence = device === "cpu" ? "scanned" : "unrolled";
  if (model === "rnn") return { width: 128, layers: 1, dropout: task === "lm" ? 0 : 0.1, recurrence };
  switch (task) {
    case "lm":
    case "mlm":
      return { layers: 4, heads: 4, width: 128, context: 128, ...choices };
    case "classify":
    case "tag":
    case "translate":
      return { layers: 2, heads: 4, width: 128, dropout: 0.1, ...choices };
  }
}

/** SwiGLU has three matrices where others have two; with 8/3 of the width inside, the parameters are as many. */
export const gatedHidden = (width: number): number => Math.max(1, 8 * Math.round(width / 3));

/** Longer examples are cut to this, unless a context is given: what is trained on costs time. */
const longestTrained: Readonly<Record<Task, number>> = { classify: 256, tag: 256, translate: 128, lm: 512, mlm: 512 };

/** A reader of short texts has room for a few sentences more. */
const fewestPlaces = 128;

/**
 * A context for examples of which the longest has so many tokens. What is classified or tagged later may be longer, so there is twice the
 * room: places cost nothing until a text fills them. A learned table is the exception, since places that no example reached have learned
 * nothing; so are examples that are cut themselves, as those to come then are too; and a translator's context is also the most that it writes.
 */
export function contextFor(task: Task, longest: number, positions: unknown): number {
  const most = longestTrained[task];
  const roomy = task !== "translate" && positions !== "learned" && longest <= most;
  return roomy ? Math.max(2 * longest, fewestPlaces) : Math.max(1, Math.min(longest, most));
}

const common = {
  schedule: "linear",
  beta1: 0.9,
  beta2: 0.99,
  weightDecay: 0.1,
  decayAll: false,
  clip: 1,
  accumulate: 1,
  seed: 1,
  keep: 2,
  patience: 0,
} as const;

/** `lr` is for a width of up to 128. */
type Settled = Pick<TrainingConfig, "steps" | "batch" | "lr" | "labelSmoothing">;

const byTask: Readonly<Record<Task, Settled>> = {
  lm: { steps: 2000, batch: 6, lr: 2e-3, labelSmoothing: 0 },
  classify: { steps: 1000, batch: 32, lr: 1e-3, labelSmoothing: 0 },
  tag: { steps: 1000, batch: 32, lr: 1e-3, labelSmoothing: 0 },
  mlm: { steps: 2000, batch: 16, lr: 1e-3, labelSmoothing: 0 },
  translate: { steps: 2000, batch: 32, lr: 2e-3, labelSmoothing: 0.1 },
};

/** Of the highest rate of the run that is gone on from: see docs/training.md. */
const continuedRate = 0.5;

/** Muon takes rates that are so many times higher. */
const muonFactor = 2;

/** What a run that goes on from another takes over from it: what it learns by, not how long. */
export function continuedTraining(given: Partial<TrainingConfig>, parent: TrainingConfig, lora?: unknown): Partial<TrainingConfig> {
  const { batch, optimizer, beta1, beta2, momentum, decayAll, clip, labelSmoothing, accumulate } = parent;
  const weightDecay = lora ? 0 : parent.weightDecay; // what decays in an adapter is what was learned
  const next = given.optimizer ?? optimizer;
  const rate = (parent.lr * (next === "muon" ? muonFactor : 1)) / (optimizer === "muon" ? muonFactor : 1);
  const lr = given.schedule === "noam" ? {} : { lr: (lora ? 1 : continuedRate) * rate };
  const kept = momentum === undefined || next !== "muon" ? {} : { momentum };
  return { batch, optimizer, beta1, beta2, ...kept, weightDecay, decayAll, clip, labelSmoothing, accumulate, ...lr, ...given };
}

/** Of the arithmetic of a training, all validations before the last may take so much. */
const validationShare = 0.01;

/** Where a text is long beside the training, validations score a part of what is held out, in whole batches; all of it if undefined. */
export function evalTokensFor(
  { steps, evalEvery, batch, accumulate }: TrainingConfig,
  { context, held, scored }: { readonly context: number; readonly held: number; readonly scored: number },
): number | undefined {
  const trained = steps * batch * accumulate * context;
  const affordable = (3 * validationShare * trained) / Math.ceil(steps / evalEvery); // one that is trained on costs three times as much
  const tokens = Math.max(1, Math.floor(affordable / scored)) * scored;
  return tokens < held ? tokens : undefined;
}

/** The highest rates with Muon, where it was measured to learn better in equal time: see docs/training.md. */
const muonRates: Readonly<Partial<Record<Task, number>>> = { lm: 4e-3, mlm: 4e-3, translate: 4e-3 };

/** Muon's own products grow with the width and not with the batch: a step that reads fewer tokens than so many times the width would spend more on them than they win. */
const tokensForWidth = 4;

/** What the usual training of a model depends on. */
export interface TrainedFacts {
  readonly width: number;
  readonly threads: number;
  /** The most tokens of an example or a window; only of a Transformer that begins with random numbers. */
  readonly context?: number | undefined;
}

function usualOptimizer(
  task: Task,
  { batch = byTask[task].batch, accumulate = 1 }: Partial<TrainingConfig>,
  { width, context = 0 }: TrainedFacts,
) {
  return muonRates[task] !== undefined && batch * accumulate * context >= tokensForWidth * width ? "muon" : "adamw";
}

/** Everything about training, from what was given and the task's defaults. */
export function trainingDefaults(task: Task, given: Partial<TrainingConfig>, facts: TrainedFacts): TrainingConfig {
  const { width, threads } = facts;
  const optimizer = given.optimizer ?? usualOptimizer(task, given, facts);
  const usualRate = (optimizer === "muon" && muonRates[task]) || byTask[task].lr;
  const steps = given.steps ?? byTask[task].steps;
  const warmup = given.warmup ?? Math.min(100, Math.ceil(steps / 10));
  const paper = 1 / Math.sqrt(width * Math.max(1, warmup)); // the highest rate of Vaswani et al.
  const wide = Math.min(1, 128 / width); // wider models want smaller rates
  const lr = given.lr ?? (given.schedule === "noam" ? paper : wide * usualRate);
  const tenth = Math.max(1, Math.round(steps / 10));
  const smoothed = (given.labelSmoothing ?? byTask[task].labelSmoothing) > 0;
  return {
    ...common,
    ...byTask[task],
    ...(smoothed && { reports: "plain" }), // without smoothing there is one loss only
    minLr: 0,
    evalEvery: tenth,
    saveEvery: tenth,
    threads,
    ...(task === "classify" && { calibrate: "temperature" }),
    ...((given.accumulate ?? 1) > 1 && { accumulates: "rows" as const }),
    ...(optimizer === "muon" && { momentum: usualMomentum }),
    ...(given.schedule === "wsd" && { decay: usualDecay }),
    ...given,
    optimizer,
    steps,
    warmup,
    lr,
  };
}
