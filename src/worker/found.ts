import type { CostFacts } from "../cost/facts.ts";
import type { ExampleRow } from "../evaluation/answered.ts";
import type { ModelConfig, ModelName } from "../models/any.ts";
import type { Task, TrainingConfig } from "../runs/config.ts";
import type { ModelTask } from "../text/columns.ts";
import type { SentSettings } from "./messages.ts";

export type { ExampleRow } from "../evaluation/answered.ts";

// What is found when somebody asks before a training, or beside it.

/** A value of a setting, as a table of runs shows it. */
export type SettingValue = string | number | boolean;

/** A run that lies in the storage. */
export interface RunFacts {
  /** Its folder. */
  readonly run: string;
  readonly task: string;
  readonly model: string;
  /** Steps that are saved, of those that were asked for. */
  readonly step: number;
  readonly steps: number;
  /** Whether it has weights that can be opened. */
  readonly opens: boolean;
  readonly parameters: number;
  /** The last loss of its log, and the validation loss of the weights that are opened; null where there is none. */
  readonly loss: number | null;
  readonly validLoss: number | null;
  /** When it was last written to, in milliseconds of the clock. */
  readonly modified: number;
  /** Everything that it was trained with, by the names of the options: `model.width`, `lr`, `tokenizer`, `data`. */
  readonly settings: Readonly<Record<string, SettingValue>>;
  /** Steps and losses of its log, thinned to at most 60, each the mean of its stretch. */
  readonly curve: readonly (readonly [step: number, loss: number])[];
  readonly hasCheckpoints: boolean;
  /** Whether somebody trains in it at this moment, here or in another process of this machine. */
  readonly training?: "training" | "paused";
}

export interface HeldOutExamples {
  readonly task: ModelTask;
  /** Labels or tags, in the order of their scores; none of a translator. */
  readonly labels: readonly string[];
  readonly rows: readonly ExampleRow[];
  /** How many are held out (of a translator: sources); more than the rows, where fewer were asked for. */
  readonly all: number;
  readonly warnings: readonly string[];
}

/** What a training would be. */
export interface TrainingPlan {
  readonly task: Task;
  readonly model: ModelConfig;
  readonly training: TrainingConfig;
  readonly parameters: number;
  /** How many of them are trained: fewer with an adapter, or with parts that are frozen. */
  readonly trained: number;
  /** Tokens to train on. */
  readonly tokens: number;
  /** Examples to train on and to validate with; of one text, its windows. */
  readonly examples: number;
  readonly valid: number;
  /** Tokens of the longest example, of examples. */
  readonly longest?: number;
  readonly vocab: number;
  readonly tokenizer: string;
  readonly labels?: readonly string[];
  /** Tokens that a step sees at most, and how often all is seen. */
  readonly tokensPerStep: number;
  readonly epochs: number;
  /** FLOPs of all steps, as counted in the graph. */
  readonly flops: number;
  readonly cost: CostFacts;
  readonly warnings: readonly string[];
}

/** What a model costs is asked with: any of its settings, and how much it reads. */
export interface CostSettings extends Pick<Partial<TrainingConfig>, "batch" | "optimizer" | "accumulate"> {
  readonly task?: Task;
  /** Sizes by name: gpt2, gpt3-6.7b, transformer-base … */
  readonly preset?: string;
  readonly model?: SentSettings["model"] & { readonly model?: ModelName };
  readonly vocab?: number;
  readonly labels?: number;
  /** Tokens of a sequence (of the target, where there is a source); the context if left out. */
  readonly length?: number;
  readonly sourceLength?: number;
  /** Tokens that a decoded token sees, itself included; the length if left out. */
  readonly decode?: number;
  /** Tokens to train on, for the whole training's FLOPs. */
  readonly tokens?: number;
}
