import { FormatError } from "../base/errors.ts";
import type { Gguf, GgufTensor } from "../weights/gguf.ts";
import { type Recognised, recognised } from "./families.ts";
import type { Turn } from "./family.ts";
import { type GgufFamily, ggufFamilyOf, settingsOf } from "./gguf-families.ts";
import { fromGguf, type HeadSizes } from "./gguf-names.ts";
import { tokenizerOf } from "./gguf-tokenizer.ts";
import { type CheckpointType, checkpointTypes, type HubRecord } from "./record.ts";

// A GGUF file as if it were a folder of Hugging Face: a config.json, a tokenizer.json, and tensors under the names that a family knows.

/** A tensor under its name at Hugging Face. */
export interface GgufPlace {
  readonly name: string;
  readonly tensor: GgufTensor;
  /** As Hugging Face has it. */
  readonly shape: readonly number[];
  /** How the tensor of the file becomes that of Hugging Face. */
  readonly turn?: Turn;
}

export interface GgufModel extends Recognised {
  readonly record: HubRecord;
  /** The text of a tokenizer.json. */
  readonly tokenizerText: string;
  readonly places: ReadonlyMap<string, GgufPlace>;
}

const frequencies = "rope_freqs.weight";

/** `numbers` gives those of a tensor of the file. */
export function ggufModel({ metadata, tensors }: Gguf, numbers: (name: string) => Float32Array, where: string): GgufModel {
  const family = ggufFamilyOf(metadata, where);
  const config = configOf(family, { metadata, tensors }, numbers, where);
  const found = recognised(config, where);
  const { json, config: tokenizerConfig, generation, chatTemplate } = tokenizerOf(metadata, where);
  const dtype = dtypeOf(tensors);
  return {
    ...found,
    record: {
      family: found.family.name,
      config: { ...config, ...generation },
      generation,
      tokenizerConfig,
      ...(chatTemplate !== undefined && { chatTemplate }),
      ...(dtype && { dtype }),
    },
    tokenizerText: JSON.stringify(json),
    places: placesOf(family, tensors, headSizes(found)),
  };
}

function configOf(family: GgufFamily, { metadata, tensors }: Gguf, numbers: (name: string) => Float32Array, where: string) {
  const settings = settingsOf(metadata, family);
  const table = tensors.get("token_embd.weight");
  if (table?.shape.length !== 2)
    throw new FormatError(`${where}: there is no token_embd.weight, the table of tokens; is this a whole language model?`);
  const config = family.config(settings, {
    scores: tensors.has("output.weight"),
    attentionBias: tensors.has("blk.0.attn_q.bias"),
    vocab: table.shape[0],
    exactGelu: metadata.get("qkv.activation")?.value === "gelu",
    ...(tensors.has(frequencies) && { frequencies: numbers(frequencies) }),
  });
  settings.finish(where, family.architecture);
  return config;
}

function headSizes({ model }: Recognised): HeadSizes {
  const {
    heads,
    kvHeads = heads,
    width,
    keySize = width / heads,
  } = model as { heads: number; kvHeads?: number; width: number; keySize?: number };
  return { heads, kvHeads, size: keySize };
}

/** Tensors that the family does not know keep their names, and are told as unexpected. */
function placesOf(family: GgufFamily, tensors: Gguf["tensors"], sizes: HeadSizes): Map<string, GgufPlace> {
  const places = new Map<string, GgufPlace>();
  for (const [name, tensor] of tensors) {
    if (name === frequencies) continue;
    const renamed = fromGguf(family.names, name, sizes);
    const shape = renamed?.turn?.kind === "transpose" ? [...tensor.shape].reverse() : tensor.shape;
    places.set(renamed?.name ?? name, { name, tensor, shape, ...(renamed?.turn && { turn: renamed.turn }) });
  }
  return places;
}

/** What most numbers are kept as, if that is a type of checkpoints. */
function dtypeOf(tensors: Gguf["tensors"]): CheckpointType | undefined {
  const bytes = new Map<string, number>();
  for (const { type, begin, end } of tensors.values()) bytes.set(type, (bytes.get(type) ?? 0) + end - begin);
  const [most] = [...bytes].sort(([, a], [, b]) => b - a)[0] ?? [];
  return checkpointTypes.find((type) => type === most);
}
