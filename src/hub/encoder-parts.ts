import type { Architecture } from "../models/any.ts";
import type { EncoderConfig, EncoderDecoderConfig } from "../models/config.ts";
import type { ConfigReader } from "./config-reader.ts";
import type { Family, JsonObject, Written } from "./family.ts";

// What the tables of several encoders and translators share.

/** Tables are only ever asked for models that `read` made, or that `write` did not refuse. */
export const asEncoder = (model: Architecture): EncoderConfig => model as EncoderConfig;
export const asTranslator = (model: Architecture): EncoderDecoderConfig => model as EncoderDecoderConfig;

/** Functions of feed-forward layers, in their words. */
export const denseActivations = {
  gelu: "gelu",
  gelu_new: "gelu-tanh",
  gelu_pytorch_tanh: "gelu-tanh",
  relu: "relu",
  silu: "silu",
  swish: "silu",
} as const;

/** The names of labels in the order of their scores; Python calls nameless ones LABEL_0, LABEL_1 … */
export function labelNames(hf: ConfigReader): string[] {
  const names = hf.value("id2label");
  const count = hf.value("num_labels", "_num_labels");
  if (typeof names !== "object" || names === null)
    return Array.from({ length: typeof count === "number" ? count : 2 }, (_, i) => `LABEL_${i}`);
  const found: JsonObject = { ...names };
  const labels = Array.from({ length: Object.keys(found).length }, (_, i) => found[i]);
  if (labels.every((label) => typeof label === "string") && new Set(labels).size === labels.length) return labels;
  hf.problem("id2label is not a list of different names for 0, 1, 2 …");
  return [];
}

/** What the head on top of an encoder is for. */
export type HeadKind = "classify" | "tag" | "mlm" | "embed";

export interface Head {
  readonly model: JsonObject;
  readonly labels?: readonly string[];
}

/** The settings of a head; `pooled` are those of a classifier's. */
export function headOf(hf: ConfigReader, kind: HeadKind, pooled: JsonObject): Head {
  const tie = hf.boolean("tie_word_embeddings", true);
  if (kind === "embed") return { model: { task: "embed", pool: "mean" } };
  if (kind === "mlm") return { model: { task: "mlm", scoresBias: true, tie } };
  const labels = labelNames(hf);
  if (kind === "tag") return { model: { task: "tag", labels: labels.length }, labels };
  const problem = hf.value("problem_type");
  if (problem === "regression") hf.problem('problem_type is "regression": a number is no label');
  // A single score says whether its label is there, as one of several does.
  const several = problem === "multi_label_classification" || labels.length === 1;
  return { model: { task: "classify", labels: labels.length, labelling: several ? "several" : "one", ...pooled }, labels };
}

/** The config.json that a model came with, for the head that it has now. */
export function rewritten(
  model: Architecture,
  { original, labels = [] }: Written,
  classes: Readonly<Record<HeadKind, string>>,
  { name, classifier }: Pick<Family, "name" | "classifier">,
): { readonly config: JsonObject } | { readonly reasons: readonly string[] } {
  if (!original) return { reasons: [`only a model that began as one of ${name} is written as one`] };
  if (model.model !== "encoder") return { reasons: [`the model is ${model.model} (only encoder)`] };
  const { task, pool, pooler } = model;
  if (task === "classify" && (pool !== "first" || pooler !== classifier?.pooler))
    return { reasons: [`pool is ${pool} and pooler ${pooler} (only first and ${classifier?.pooler})`] };
  const named = Array.isArray(original.architectures) ? original.architectures : [];
  const { id2label: _, label2id: __, num_labels: ___, problem_type: ____, ...others } = original;
  if (task === "embed" || task === "mlm")
    return { config: named.includes(classes[task]) ? original : { ...others, architectures: [classes[task]] } };
  if (named.includes(classes[task]) && sameLabels(original, labels)) return { config: original };
  return {
    config: {
      ...others,
      architectures: [classes[task]],
      id2label: Object.fromEntries(labels.map((label, i) => [i, label])),
      label2id: Object.fromEntries(labels.map((label, i) => [label, i])),
      ...(task === "classify" && {
        problem_type: model.labelling === "several" ? "multi_label_classification" : "single_label_classification",
      }),
    },
  };
}

/** Whether a config.json has these labels already, by name or by number. */
function sameLabels({ id2label, num_labels: count = 2 }: JsonObject, labels: readonly string[]): boolean {
  if (typeof id2label !== "object" || id2label === null)
    return labels.length === count && labels.every((label, i) => label === `LABEL_${i}`);
  const names: JsonObject = { ...id2label };
  return Object.keys(names).length === labels.length && labels.every((label, i) => names[i] === label);
}
