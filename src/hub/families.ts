import { FormatError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { type Architecture, type ModelInput, modelConfig } from "../models/any.ts";
import { quoted } from "../text/quote.ts";
import { bart, marian } from "./bart.ts";
import { bert, roberta } from "./bert.ts";
import { ConfigReader } from "./config-reader.ts";
import { distilbert } from "./distilbert.ts";
import type { Family, JsonObject } from "./family.ts";
import { gemma, gemma2, gemma3 } from "./gemma.ts";
import { gpt2 } from "./gpt2.ts";
import { llama } from "./llama.ts";
import { mistral, phi3, qwen2, qwen3 } from "./llama-kin.ts";
import { neox } from "./neox.ts";
import { opt } from "./opt.ts";
import { phi } from "./phi.ts";
import { t5 } from "./t5.ts";

const decoders: readonly Family[] = [llama, gpt2, qwen2, qwen3, mistral, gemma, gemma2, gemma3, neox, phi, phi3, opt];
const encoders: readonly Family[] = [bert, roberta, distilbert];
const translators: readonly Family[] = [t5, bart, marian];

/** Every family that is known; a new one is one more table. */
export const families: readonly Family[] = [...decoders, ...encoders, ...translators];

/** A config.json that is understood. */
export interface Recognised {
  readonly family: Family;
  readonly model: Architecture;
  /** Names of labels or tags, where it has such. */
  readonly labels?: readonly string[];
}

/** The model that a config.json describes; `file` is what errors call it. Everything in it that is not understood is told at once. */
export function recognised(config: JsonObject, file: string): Recognised {
  const { family, architecture } = familyOf(config, file);
  const reader = new ConfigReader(config);
  if (config.quantization_config)
    reader.problem("quantization_config: the weights are packed; get the folder in 32 or 16 bits, or as GGUF");
  const { model, labels } = family.read(reader, architecture);
  reader.value("quantization_config");
  reader.finish(file, `${family.name} (${architecture})`);
  try {
    return { family, model: modelConfig(model as unknown as ModelInput), ...(labels && { labels }) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new FormatError(`this ${family.name} cannot be built: ${error.message}`, { file, cause: error });
  }
}

function familyOf(config: JsonObject, file: string): { readonly family: Family; readonly architecture: string } {
  const { model_type: type, architectures } = config;
  const named = Array.isArray(architectures) ? architectures.filter((one): one is string => typeof one === "string") : [];
  const family =
    families.find(({ modelTypes }) => modelTypes.includes(String(type))) ??
    (type === undefined ? families.find((one) => one.architectures.some((name) => named.includes(name))) : undefined);
  if (!family) {
    const known = families.flatMap(({ modelTypes }) => modelTypes);
    const found = type === undefined ? "there is no model_type" : `the model_type ${quoted(String(type))} is not known`;
    throw new FormatError(`${found}${suggest(String(type), known) || `; those that are read are ${known.join(", ")}`}`, {
      code: "config.unknown-name",
      file,
    });
  }
  if (named.length === 0) return { family, architecture: family.architectures[0] };
  const architecture = named.find((name) => family.architectures.includes(name));
  if (architecture === undefined)
    throw new FormatError(`${named.map(quoted).join(", ")} is not read; of ${family.name} there are ${family.architectures.join(", ")}`, {
      code: "config.unknown-name",
      file,
    });
  return { family, architecture };
}

export const familyCalled = (name: string): Family | undefined => families.find((family) => family.name === name);
