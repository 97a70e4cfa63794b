import { ConfigError } from "../base/errors.ts";
import { call, type Sentence, sentence, setting } from "../base/sentence.ts";
import { families, familyCalled, recognised } from "../hub/families.ts";
import type { Family, JsonObject } from "../hub/family.ts";
import { pythonJson } from "../hub/python-json.ts";
import type { HubRecord } from "../hub/record.ts";
import { type Theirs, theirsOf } from "../hub/tensors.ts";
import { type Architecture, architectureOf, described } from "../models/any.ts";
import { plainJson, saveTokenizer } from "../tokens/index.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { type LateTensor, safetensorsStream } from "../weights/safetensors.ts";
import { fitsSixteen, inSixteen } from "../weights/sixteen.ts";
import type { Exporter, Shipped } from "./exporter.ts";
import { tokenIds, tokenizerConfig } from "./onnx-folder.ts";

// A folder that Python's transformers opens: a model that came from outside as its own family, one of ours as the family that it is.

export const hfExporter: Exporter = {
  weights: ["f32", "f16"],
  async write({ trained, weights, write }): Promise<Shipped> {
    const model = architectureOf(trained.model, "hf");
    const { family, config } = chosen(trained, model);
    const tensors = [...theirsOf(family.tensors(model), (name) => trained.weights.numbers(name)), ...keptOf(trained, family, model)];
    const dtype = weights === "f16" ? "F16" : keptAs(tensors, trained.hub);
    for (const [name, content] of Object.entries(filesOf(trained, model, { ...config, ...dtypeKeys(config, dtype) })))
      write(name, typeof content === "string" ? content : pythonJson(content, trained.hub?.floats));
    write(
      "model.safetensors",
      safetensorsStream(
        tensors.map((tensor) => late(tensor, dtype)),
        { format: "pt" },
      ),
    );
    const [architecture] = [config.architectures ?? family.architectures].flat();
    return {
      kind: family.modelTypes[0],
      metadata: { library_name: "transformers" },
      usage: [usageOf(String(architecture))],
      notes:
        dtype === "F32"
          ? []
          : [`Its numbers are kept in 16 bits (${dtypeNames[dtype]})${weights === "f16" ? "" : ", as they came, and lose nothing by it"}.`],
    };
  },
};

/** What came with a model, is not read here, and belongs to Python's class. */
function keptOf({ weights }: TrainedModel, family: Family, model: Architecture): Theirs[] {
  return [...(weights.unread ?? [])].flatMap(([name, tensor]) => {
    const kept = family.keeps?.(name, model);
    return kept === undefined ? [] : [{ name: kept, shifted: false, ...tensor }];
  });
}

/** The family that a model came from, or is; or every reason why it is none. */
function chosen({ name, hub, labels }: TrainedModel, model: Architecture): { readonly family: Family; readonly config: JsonObject } {
  const own = hub && familyCalled(hub.family);
  const reasons: string[] = [];
  if (own && recognised(hub.config, name).model.model !== model.model)
    throw new ConfigError(
      sentence`${name} began as ${own.name} and has another head now, which is not written for Python. ${call("exportModel", name, { to: "onnx" })} takes every model`,
      { code: "config.conflict", path: "to" },
    );
  for (const family of own ? [own] : families) {
    const written = family.write(model, { ...(hub && { original: hub.config }), ...(labels.length > 0 && { labels }) });
    if ("config" in written) return { family, config: written.config };
    if (own || comesNear(family, model)) reasons.push(`${family.name}: ${written.reasons.join(", ")}`);
  }
  const why =
    reasons.length > 0
      ? `; it is not like ${reasons.join("; not like ")}`
      : `: ${described(model)} is written for it only if it began as one of its own`;
  throw new ConfigError(
    sentence`${name} is no model that Python's transformers has${why}. ${pythonsHead(model, own)}${call("exportModel", name, { to: "onnx" })} takes every model`,
    { code: "config.conflict", path: "to" },
  );
}

/** How a classifier would have been one of Python's. */
function pythonsHead(model: Architecture, own: Family | undefined): Sentence | string {
  if (!own?.classifier || model.model !== "encoder" || model.task !== "classify") return "";
  const { pool, pooler } = own.classifier;
  return sentence`Trained with ${setting("pool", pool)} and ${setting("pooler", pooler)} from where its head is new, it would be one. `;
}

/** Families that something made here can be: the others only say that it came from elsewhere. */
const comesNear = ({ modelTypes: [type] }: Family, { model }: Architecture): boolean =>
  model === "decoder" && ["llama", "gpt2"].includes(type);

type Kept = "F32" | "F16" | "BF16";
const dtypeNames = { F32: "float32", F16: "float16", BF16: "bfloat16" } as const;

/** Numbers that came in 16 bits, and were not trained since, are the same numbers in 16 bits. */
function keptAs(tensors: readonly Theirs[], hub: HubRecord | undefined): Kept {
  const { dtype = "F32" } = hub ?? {};
  if (dtype === "F32") return dtype;
  return tensors.every((tensor) => tensor.shifted || fitsSixteen(tensor.numbers(), dtype)) ? dtype : "F32";
}

function late({ name, shape, numbers }: Theirs, dtype: Kept): LateTensor {
  const bytes = () => {
    const found = dtype === "F32" ? numbers() : inSixteen(numbers(), dtype);
    return new Uint8Array(found.buffer, found.byteOffset, found.byteLength);
  };
  return { name, dtype, shape, bytes };
}

/** Python reads weights as what its config says. transformers 5 calls it dtype, those before it torch_dtype. */
function dtypeKeys(config: JsonObject, dtype: Kept): JsonObject {
  const keys = ["dtype", "torch_dtype"].filter((key) => key in config);
  return Object.fromEntries((keys.length > 0 ? keys : ["dtype"]).map((key) => [key, dtypeNames[dtype]]));
}

/** What stands beside the weights. Of a model from outside, its own files. */
function filesOf({ tokenizer, hub, chat }: TrainedModel, model: Architecture, config: JsonObject): Record<string, JsonObject | string> {
  const tokens = hub ? {} : tokenIds(tokenizer);
  const template = hub?.chatTemplate ?? (hub ? undefined : chat?.template);
  const told = hub?.tokenizerConfig ?? tokenizerConfig(tokenizer, model);
  const generation = hub ? hub.generation : tokens;
  return {
    "config.json": { ...config, ...tokens },
    ...(generation && model.model !== "encoder" && { "generation_config.json": generation }),
    "tokenizer.json": hub ? saveTokenizer(tokenizer) : JSON.stringify(plainJson(tokenizer)),
    "tokenizer_config.json": told,
    ...(template !== undefined && !("chat_template" in told) && { "chat_template.jinja": template }),
  };
}

const autoClasses: readonly (readonly [end: RegExp, auto: string])[] = [
  [/(ForCausalLM|LMHeadModel)$/, "AutoModelForCausalLM"],
  [/ForSequenceClassification$/, "AutoModelForSequenceClassification"],
  [/ForTokenClassification$/, "AutoModelForTokenClassification"],
  [/ForMaskedLM$/, "AutoModelForMaskedLM"],
  [/(ForConditionalGeneration|MTModel)$/, "AutoModelForSeq2SeqLM"],
];

const usageOf = (architecture: string): Shipped["usage"][number] => {
  const auto = autoClasses.find(([end]) => end.test(architecture))?.[1] ?? "AutoModel";
  return {
    title: "Python",
    language: "python",
    code: `from transformers import AutoTokenizer, ${auto}\n\ntokenizer = AutoTokenizer.from_pretrained(".")\nmodel = ${auto}.from_pretrained(".")`,
  };
};
