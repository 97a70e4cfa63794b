import type { Turn } from "./family.ts";

// Names of tensors in GGUF beside those of Hugging Face, and what differs in their rows. {i} is the number of a block.

/** What the turns of rows are made of. */
export interface HeadSizes {
  readonly heads: number;
  readonly kvHeads: number;
  /** Of a head. */
  readonly size: number;
}

export interface GgufNames {
  /** What stands before ".weight" and ".bias": theirs in GGUF → theirs at Hugging Face. */
  readonly names: Readonly<Record<string, string>>;
  /** How a tensor of GGUF becomes that of Hugging Face, by its name with {i} and its end. */
  turn?(name: string, end: string, sizes: HeadSizes): Turn | undefined;
}

const llamaBlocks = {
  "blk.{i}.attn_norm": "model.layers.{i}.input_layernorm",
  "blk.{i}.attn_q": "model.layers.{i}.self_attn.q_proj",
  "blk.{i}.attn_k": "model.layers.{i}.self_attn.k_proj",
  "blk.{i}.attn_v": "model.layers.{i}.self_attn.v_proj",
  "blk.{i}.attn_q_norm": "model.layers.{i}.self_attn.q_norm",
  "blk.{i}.attn_k_norm": "model.layers.{i}.self_attn.k_norm",
  "blk.{i}.attn_output": "model.layers.{i}.self_attn.o_proj",
  "blk.{i}.ffn_gate": "model.layers.{i}.mlp.gate_proj",
  "blk.{i}.ffn_up": "model.layers.{i}.mlp.up_proj",
  "blk.{i}.ffn_down": "model.layers.{i}.mlp.down_proj",
} as const;
const llamaEnds = { token_embd: "model.embed_tokens", output_norm: "model.norm", output: "lm_head" } as const;
const llamaNames = { ...llamaEnds, ...llamaBlocks, "blk.{i}.ffn_norm": "model.layers.{i}.post_attention_layernorm" };

/** Qwen and others that turn the halves of a head against each other, as Hugging Face does: the rows are the same. */
export const plainNames: GgufNames = { names: llamaNames };

/** Rotary positions turn neighbours in GGUF's llama, and halves of the head at Hugging Face: the rows of queries and keys change places. */
export const llamaPairs: GgufNames = {
  names: llamaNames,
  turn: (name, _, { heads, kvHeads, size }) => {
    if (name === "blk.{i}.attn_q") return halvesFromPairs(heads, size);
    return name === "blk.{i}.attn_k" ? halvesFromPairs(kvHeads, size) : undefined;
  },
};

/** Row (head, half, j) at Hugging Face is row (head, j, half) of GGUF. */
function halvesFromPairs(heads: number, size: number): Turn {
  const rows: number[] = [];
  for (let head = 0; head < heads; head++)
    for (let half = 0; half < 2; half++) for (let j = 0; j < size / 2; j++) rows.push(head * size + 2 * j + half);
  return { kind: "rows", rows };
}

/** Gemma's norms multiply by 1 + weight at Hugging Face, and GGUF keeps the sum. */
export const gemmaNames: GgufNames = {
  names: {
    ...llamaEnds,
    ...llamaBlocks,
    "blk.{i}.post_attention_norm": "model.layers.{i}.post_attention_layernorm",
    "blk.{i}.ffn_norm": "model.layers.{i}.pre_feedforward_layernorm",
    "blk.{i}.post_ffw_norm": "model.layers.{i}.post_feedforward_layernorm",
  },
  turn: withoutOne,
};

/** The first Gemma has no norms behind its sublayers. */
export const firstGemmaNames: GgufNames = { names: llamaNames, turn: withoutOne };

function withoutOne(name: string): Turn | undefined {
  return name.endsWith("norm") ? { kind: "add", number: -1 } : undefined;
}

/** GPT-2 keeps its matrices [in, out] at Hugging Face, and GGUF [out, in]. */
export const gpt2Names: GgufNames = {
  names: {
    token_embd: "transformer.wte",
    position_embd: "transformer.wpe",
    "blk.{i}.attn_norm": "transformer.h.{i}.ln_1",
    "blk.{i}.attn_qkv": "transformer.h.{i}.attn.c_attn",
    "blk.{i}.attn_output": "transformer.h.{i}.attn.c_proj",
    "blk.{i}.ffn_norm": "transformer.h.{i}.ln_2",
    "blk.{i}.ffn_up": "transformer.h.{i}.mlp.c_fc",
    "blk.{i}.ffn_down": "transformer.h.{i}.mlp.c_proj",
    output_norm: "transformer.ln_f",
    output: "lm_head",
  },
  turn: (name, end) => (/(attn_qkv|attn_output|ffn_up|ffn_down)$/.test(name) && end === "weight" ? { kind: "transpose" } : undefined),
};

/** GPT-NeoX has queries, keys and values head by head at Hugging Face, and one after the other in GGUF. */
export const neoxNames: GgufNames = {
  names: {
    token_embd: "gpt_neox.embed_in",
    "blk.{i}.attn_norm": "gpt_neox.layers.{i}.input_layernorm",
    "blk.{i}.attn_qkv": "gpt_neox.layers.{i}.attention.query_key_value",
    "blk.{i}.attn_output": "gpt_neox.layers.{i}.attention.dense",
    "blk.{i}.ffn_norm": "gpt_neox.layers.{i}.post_attention_layernorm",
    "blk.{i}.ffn_up": "gpt_neox.layers.{i}.mlp.dense_h_to_4h",
    "blk.{i}.ffn_down": "gpt_neox.layers.{i}.mlp.dense_4h_to_h",
    output_norm: "gpt_neox.final_layer_norm",
    output: "embed_out",
  },
  turn: (name, _, { heads, size }) => (name === "blk.{i}.attn_qkv" ? headsFromParts(heads, size) : undefined),
};

/** Row (head, part, j) at Hugging Face is row (part, head, j) of GGUF. */
function headsFromParts(heads: number, size: number): Turn {
  const rows: number[] = [];
  for (let head = 0; head < heads; head++)
    for (let part = 0; part < 3; part++) for (let j = 0; j < size; j++) rows.push((part * heads + head) * size + j);
  return { kind: "rows", rows };
}

export const phiNames: GgufNames = {
  names: {
    token_embd: "model.embed_tokens",
    "blk.{i}.attn_norm": "model.layers.{i}.input_layernorm",
    "blk.{i}.attn_q": "model.layers.{i}.self_attn.q_proj",
    "blk.{i}.attn_k": "model.layers.{i}.self_attn.k_proj",
    "blk.{i}.attn_v": "model.layers.{i}.self_attn.v_proj",
    "blk.{i}.attn_output": "model.layers.{i}.self_attn.dense",
    "blk.{i}.ffn_up": "model.layers.{i}.mlp.fc1",
    "blk.{i}.ffn_down": "model.layers.{i}.mlp.fc2",
    output_norm: "model.final_layernorm",
    output: "lm_head",
  },
};

/** A name as the table has it: "blk.12.attn_q.weight" is "blk.{i}.attn_q" of block 12 with the end "weight". */
function partsOf(name: string): { readonly place: string; readonly block: string; readonly end: string } | undefined {
  const match = /^(.*)\.(weight|bias)$/.exec(name);
  if (!match) return undefined;
  const [, front, end] = match;
  const block = /(?<=^blk\.|\.layers\.|\.h\.)\d+(?=\.)/.exec(front)?.[0] ?? "";
  return { place: block === "" ? front : front.replace(`.${block}.`, ".{i}."), block, end };
}

export interface Renamed {
  readonly name: string;
  /** How the tensor of GGUF becomes that of Hugging Face. */
  readonly turn?: Turn;
}

/** A tensor of GGUF at Hugging Face; undefined if the family has none of this name. */
export function fromGguf({ names, turn }: GgufNames, name: string, sizes: HeadSizes): Renamed | undefined {
  const parts = partsOf(name);
  if (!parts || !Object.hasOwn(names, parts.place)) return undefined;
  const turned = turn?.(parts.place, parts.end, sizes);
  return { name: `${names[parts.place].replace("{i}", parts.block)}.${parts.end}`, ...(turned && { turn: turned }) };
}

/** A tensor of Hugging Face in GGUF. */
export function toGguf({ names, turn }: GgufNames, name: string, sizes: HeadSizes): Renamed | undefined {
  const parts = partsOf(name);
  const place = parts && Object.keys(names).find((key) => names[key] === parts.place);
  if (!parts || place === undefined) return undefined;
  const turned = turn?.(place, parts.end, sizes);
  return { name: `${place.replace("{i}", parts.block)}.${parts.end}`, ...(turned && { turn: turned }) };
}
