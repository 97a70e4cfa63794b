import * as z from "zod";
import { modelSchemas } from "../../../src/models/config.ts";

// Every option of a training, with what it is. Those of models are read off what their configs are checked by; a page needs only one list.

export type OptionKind =
  | { readonly kind: "number" }
  | { readonly kind: "text" }
  | { readonly kind: "switch" }
  | { readonly kind: "choice"; readonly choices: readonly string[] };

export type GroupName = "first" | "data" | "size" | "attention" | "positions" | "block" | "output" | "training" | "saving";

export interface TrainingOption {
  /** Its place in the settings: `lr`, `model.width`, `columns.text`. */
  readonly path: string;
  readonly what: string;
  readonly value: OptionKind;
  readonly group: GroupName;
}

export const groups: readonly { readonly name: GroupName; readonly label: string }[] = [
  { name: "first", label: "The important ones" },
  { name: "data", label: "Data and tokens" },
  { name: "size", label: "Sizes" },
  { name: "attention", label: "Attention" },
  { name: "positions", label: "Positions" },
  { name: "block", label: "Blocks" },
  { name: "output", label: "From states to answers" },
  { name: "training", label: "Training" },
  { name: "saving", label: "Validating and saving" },
];

const number = { kind: "number" } as const;
const text = { kind: "text" } as const;
const switched = { kind: "switch" } as const;
const choice = (...choices: readonly string[]) => ({ kind: "choice", choices }) as const;

const beside: readonly TrainingOption[] = [
  {
    path: "task",
    what: "what to learn; the data tells it where it can",
    value: choice("lm", "classify", "tag", "translate", "mlm"),
    group: "first",
  },
  { path: "model.model", what: "the architecture; one that can do the task", value: choice(...Object.keys(modelSchemas)), group: "first" },
  {
    path: "tokenizer",
    what: "how text is cut into tokens: characters, bytes, words, or pieces that are learned",
    value: choice("char", "byte", "word", "bpe", "wordpiece", "unigram"),
    group: "first",
  },
  { path: "vocab", what: "entries of the tokenizer that is trained", value: number, group: "first" },
  { path: "steps", what: "steps of training", value: number, group: "first" },
  { path: "batch", what: "windows or examples in a batch", value: number, group: "first" },
  { path: "lr", what: "the highest learning rate", value: number, group: "first" },
  { path: "lowercase", what: "the tokenizer reads everything in lower case", value: switched, group: "data" },
  { path: "normalize", what: "the Unicode normal form that it reads", value: choice("none", "nfc", "nfkc"), group: "data" },
  { path: "validFraction", what: "share of the data that is held out to validate with", value: number, group: "data" },
  { path: "classWeights", what: "how much each label counts: balanced counts the rarer more", value: choice("balanced"), group: "data" },
  ...["text", "label", "labels", "source", "target", "tags", "prompt", "completion", "messages"].map(
    (role): TrainingOption => ({
      path: `columns.${role}`,
      what: `the name of the column with the ${role}, if another`,
      value: text,
      group: "data",
    }),
  ),
  { path: "warmup", what: "steps in which the rate rises", value: number, group: "training" },
  { path: "schedule", what: "how the rate falls after that", value: choice("constant", "linear", "cosine", "noam"), group: "training" },
  { path: "minLr", what: "where linear and cosine end", value: number, group: "training" },
  { path: "optimizer", what: "what moves the weights", value: choice("adamw", "adam", "sgd"), group: "training" },
  { path: "beta1", what: "decay of the first moment; momentum of sgd", value: number, group: "training" },
  { path: "beta2", what: "decay of the second moment", value: number, group: "training" },
  { path: "weightDecay", what: "decay of the matrices", value: number, group: "training" },
  { path: "decayAll", what: "biases and scales decay too", value: switched, group: "training" },
  { path: "clip", what: "the longest gradient; 0 for any", value: number, group: "training" },
  { path: "labelSmoothing", what: "share of the target that is spread over all tokens", value: number, group: "training" },
  { path: "accumulate", what: "batches whose gradients are added up for one step", value: number, group: "training" },
  {
    path: "checkpointBlocks",
    what: "compute each block again for its gradients: less memory, more time",
    value: switched,
    group: "training",
  },
  { path: "seed", what: "everything random follows from it", value: number, group: "training" },
  { path: "threads", what: "threads of the engine", value: number, group: "training" },
  { path: "evalEvery", what: "how often to validate, in steps", value: number, group: "saving" },
  { path: "saveEvery", what: "how often to save a checkpoint, in steps: what it writes is shown then", value: number, group: "saving" },
  { path: "keep", what: "how many checkpoints stay: the slider of Look goes back to them", value: number, group: "saving" },
  { path: "patience", what: "stop after so many validations without an improvement; 0 for never", value: number, group: "saving" },
  { path: "partsEvery", what: "how often the norms of all layers are told, in steps; 0 for never", value: number, group: "saving" },
  {
    path: "calibrate",
    what: "what makes probabilities true, fitted to the held-out part",
    value: choice("temperature", "none"),
    group: "saving",
  },
];

/** Those that come from the data, or that say which model it is. */
const settled = new Set(["model", "task", "vocab", "sourceVocab", "labels", "labelling", "normalise", "segments"]);

const important = new Set(["layers", "heads", "width", "context", "dropout"]);

const places: readonly (readonly [pattern: RegExp, group: GroupName])[] = [
  [/^(kvHeads|hidden|keySize|valueSize|decoder.*|cell|bidirectional)$/, "size"],
  [/^(position|joinPosition|rope|relative)/, "positions"],
  [/^(score|attention|scale|scoreCap|qkNorm|window|windowEvery|mask|multiHead|causal)$/, "attention"],
  [/^(tie|scores.*|pool|pooler|headTransform)$/, "output"],
];

function modelOption(name: string, field: z.ZodType): TrainingOption {
  const group = important.has(name) ? "first" : (places.find(([pattern]) => pattern.test(name))?.[1] ?? "block");
  return { path: `model.${name}`, what: field.description ?? "", value: kindOf(field), group };
}

function kindOf(field: z.core.$ZodType): OptionKind {
  if (field instanceof z.ZodDefault || field instanceof z.ZodOptional) return kindOf(field.def.innerType);
  if (field instanceof z.ZodEnum) return { kind: "choice", choices: field.options.map(String) };
  return field instanceof z.ZodBoolean ? switched : number;
}

export type ModelKind = keyof typeof modelSchemas;

/** All options of a training of this model, the important ones first. */
export function optionsOf(model: string): readonly TrainingOption[] {
  const schema = modelSchemas[model as ModelKind] ?? modelSchemas.decoder;
  const own = Object.entries(schema.shape).flatMap(([name, field]) => (settled.has(name) ? [] : [modelOption(name, field)]));
  const all = [...beside, ...own];
  return groups.flatMap(({ name }) => all.filter(({ group }) => group === name));
}
