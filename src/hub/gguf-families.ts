import { FormatError } from "../base/errors.ts";
import type { DecoderConfig } from "../models/config.ts";
import type { GgufMetadata, GgufValue } from "../weights/gguf.ts";
import { ConfigReader } from "./config-reader.ts";
import { epsilonOf, sizesOf } from "./decoder-parts.ts";
import type { JsonObject } from "./family.ts";
import { firstGemmaNames, type GgufNames, gemmaNames, gpt2Names, llamaPairs, neoxNames, phiNames, plainNames } from "./gguf-names.ts";
import { llama3Factors, llama3Of } from "./gguf-rope.ts";

// One small table per architecture of GGUF that is a family of Hugging Face: its settings both ways, and the names of its tensors.

/** What a file says beside its settings. */
export interface GgufFacts {
  /** "output.weight" is there: the scores have a table of their own. */
  readonly scores: boolean;
  /** "blk.0.attn_q.bias" is there. */
  readonly attentionBias: boolean;
  /** "rope_freqs.weight": what each frequency is divided by. */
  readonly frequencies?: Float32Array;
  readonly vocab: number;
  /** GELU as it was trained, which GGUF cannot say: "qkv.activation" of files that were written here. */
  readonly exactGelu: boolean;
}

export interface GgufFamily {
  /** general.architecture */
  readonly architecture: string;
  /** What config.json calls the families that are kept so; the first one is read. */
  readonly modelTypes: readonly string[];
  readonly names: GgufNames;
  /** Its settings as a config.json. Keys are those after the architecture's name: `block_count`, `attention.head_count`. */
  config(settings: ConfigReader, facts: GgufFacts): JsonObject;
  /** A model of the family as settings. */
  settings(model: DecoderConfig): Readonly<Record<string, GgufValue>>;
  /** Why a model of the family cannot be said in GGUF, as far as llama.cpp understands it. */
  reasons?(model: DecoderConfig): readonly string[];
}

const whole = (value: number): GgufValue => ({ type: "uint32", value });
const float = (value: number): GgufValue => ({ type: "float32", value });

/** A float32 as people write it: 1e-5, and not 9.999999747378752e-6. */
export function asWritten(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return short;
  }
  return value;
}

/** What every family has. */
function common(settings: ConfigReader, { vocab, scores }: GgufFacts) {
  const heads = settings.whole("attention.head_count");
  const width = settings.whole("embedding_length");
  const size = settings.wholeOrNone("attention.key_length") ?? Math.floor(width / heads);
  const values = settings.wholeOrNone("attention.value_length") ?? size;
  if (values !== size) settings.problem(`attention.value_length is ${values}, and ${size} is wanted, as of keys`);
  settings.value("vocab_size"); // the table of tokens says it
  settings.value("tensor_data_layout"); // of older files, always the same
  for (const key of ["expert_count", "expert_used_count", "pooling_type"]) settings.must(key, 0);
  settings.must("attention.causal", true);
  const layers = settings.whole("block_count");
  const context = settings.whole("context_length");
  const hidden = settings.whole("feed_forward_length");
  const kvHeads = settings.whole("attention.head_count_kv", heads);
  return { heads, kvHeads, width, size, layers, context, hidden, vocab, tie: !scores };
}

/** Settings under the names of Llama and its descendants. */
function llamaWords(settings: ConfigReader, facts: GgufFacts) {
  const { heads, kvHeads, width, size, layers, context, hidden, vocab, tie } = common(settings, facts);
  return {
    hidden_size: width,
    intermediate_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: size,
    max_position_embeddings: context,
    vocab_size: vocab,
    rms_norm_eps: asWritten(settings.number("attention.layer_norm_rms_epsilon")),
    tie_word_embeddings: tie,
  };
}

/** Rotary positions over a whole head. */
function rotary(settings: ConfigReader, size: number, facts: GgufFacts, usual = 10_000): JsonObject {
  const turned = settings.whole("rope.dimension_count", size);
  if (turned !== size) settings.problem(`rope.dimension_count is ${turned}, and ${size}, the size of a head, is wanted`);
  const base = asWritten(settings.number("rope.freq_base", usual));
  const scaling = linearScaling(settings) ?? (facts.frequencies && llama3Of(facts.frequencies, base, size));
  if (facts.frequencies && scaling === undefined)
    settings.problem("rope_freqs.weight has factors that do not come from the scaling of Llama 3");
  return { rope_theta: base, ...(scaling && { rope_scaling: scaling }) };
}

function linearScaling(settings: ConfigReader): JsonObject | undefined {
  const kind = settings.choice("rope.scaling.type", { none: "none", linear: "linear" } as const, "none");
  const factor = settings.number(["rope.scaling.factor", "rope.scale_linear"], 1); // the second in files of before 2024
  settings.value("rope.scaling.original_context_length", "rope.scaling.finetuned");
  const linear = kind === "linear" || settings.value("rope.scaling.type") === undefined;
  return linear && factor !== 1 ? { rope_type: "linear", factor: asWritten(factor) } : undefined;
}

function commonSettings(model: DecoderConfig) {
  const { layers, width, heads, kvHeads, size, hidden } = sizesOf(model);
  return {
    vocab_size: whole(model.vocab),
    context_length: whole(model.context),
    embedding_length: whole(width),
    block_count: whole(layers),
    feed_forward_length: whole(hidden),
    "attention.head_count": whole(heads),
    "attention.head_count_kv": whole(kvHeads),
    "attention.key_length": whole(size),
    "attention.value_length": whole(size),
  };
}

function llamaSettings(model: DecoderConfig) {
  const { ropeBase, ropeScaling, ropeFactor } = model;
  return {
    ...commonSettings(model),
    "attention.layer_norm_rms_epsilon": float(epsilonOf(model)),
    "rope.freq_base": float(ropeBase),
    "rope.dimension_count": whole(sizesOf(model).size),
    ...(ropeScaling === "linear" && {
      "rope.scaling.type": { type: "string", value: "linear" } as const,
      "rope.scaling.factor": float(ropeFactor),
    }),
  };
}

/** What a file has to say beside its settings: the factors of Llama 3's scaling. */
export function frequenciesOf(model: DecoderConfig): Float32Array | undefined {
  const { ropeScaling, ropeBase, ropeFactor, ropeLowFactor, ropeHighFactor, ropeOriginal } = model;
  if (ropeScaling !== "llama3") return undefined;
  return llama3Factors(
    {
      factor: ropeFactor,
      low_freq_factor: ropeLowFactor,
      high_freq_factor: ropeHighFactor,
      original_max_position_embeddings: ropeOriginal,
    },
    ropeBase,
    sizesOf(model).size,
  );
}

const llama: GgufFamily = {
  architecture: "llama",
  modelTypes: ["llama", "mistral"],
  names: llamaPairs,
  config(settings, facts) {
    const words = llamaWords(settings, facts);
    return {
      architectures: ["LlamaForCausalLM"],
      model_type: "llama",
      ...words,
      ...rotary(settings, words.head_dim, facts),
      hidden_act: "silu",
      attention_bias: facts.attentionBias,
      mlp_bias: false,
    };
  },
  settings: llamaSettings,
  reasons: ({ window, context }) => (window !== undefined && window < context ? [`window is ${window} (only without)`] : []),
};

const qwen2: GgufFamily = {
  architecture: "qwen2",
  modelTypes: ["qwen2"],
  names: plainNames,
  config(settings, facts) {
    const { head_dim, ...words } = llamaWords(settings, facts);
    return {
      architectures: ["Qwen2ForCausalLM"],
      model_type: "qwen2",
      ...words,
      ...rotary(settings, head_dim, facts),
      hidden_act: "silu",
      use_sliding_window: false,
    };
  },
  settings: llamaSettings,
};

const qwen3: GgufFamily = {
  architecture: "qwen3",
  modelTypes: ["qwen3"],
  names: plainNames,
  config(settings, facts) {
    const words = llamaWords(settings, facts);
    return {
      architectures: ["Qwen3ForCausalLM"],
      model_type: "qwen3",
      ...words,
      ...rotary(settings, words.head_dim, facts),
      hidden_act: "silu",
      attention_bias: facts.attentionBias,
      use_sliding_window: false,
    };
  },
  settings: llamaSettings,
};

const gemma: GgufFamily = {
  architecture: "gemma",
  modelTypes: ["gemma"],
  names: firstGemmaNames,
  config(settings, facts) {
    const words = llamaWords(settings, facts);
    return {
      architectures: ["GemmaForCausalLM"],
      model_type: "gemma",
      ...words,
      ...rotary(settings, words.head_dim, facts),
      hidden_activation: "gelu_pytorch_tanh",
      attention_bias: false,
    };
  },
  settings: llamaSettings,
};

/** Queries are scaled by the size of a head but in the 27B models, which llama.cpp knows by their number of layers. */
const queryScalar = (layers: number, large: number, { width, heads, size }: { width: number; heads: number; size: number }): number =>
  layers === large ? width / heads : size;

const gemmaReasons = (model: DecoderConfig, large: number): string[] => {
  const { layers, width, heads, size } = sizesOf(model);
  const wanted = queryScalar(layers, large, { width, heads, size }) ** -0.5;
  const { scale = size ** -0.5 } = model;
  return Math.abs(scale - wanted) > 1e-6 ? [`scale is ${scale} (only ${wanted})`] : [];
};

const gemma2: GgufFamily = {
  architecture: "gemma2",
  modelTypes: ["gemma2"],
  names: gemmaNames,
  config(settings, facts) {
    const words = llamaWords(settings, facts);
    const { num_hidden_layers: layers, hidden_size: width, num_attention_heads: heads, head_dim: size } = words;
    settings.must("attention.sliding_window_pattern", 2);
    const cap = (key: string) => (settings.value(key) === undefined ? null : asWritten(settings.number(key)));
    return {
      architectures: ["Gemma2ForCausalLM"],
      model_type: "gemma2",
      ...words,
      ...rotary(settings, size, facts),
      hidden_activation: "gelu_pytorch_tanh",
      attention_bias: false,
      query_pre_attn_scalar: queryScalar(layers, 46, { width, heads, size }),
      sliding_window: settings.whole("attention.sliding_window", 4096),
      attn_logit_softcapping: cap("attn_logit_softcapping"),
      final_logit_softcapping: cap("final_logit_softcapping"),
    };
  },
  settings: (model) => ({ ...llamaSettings(model), ...windowSettings(model), ...capSettings(model) }),
  reasons: (model) => gemmaReasons(model, 46),
};

const gemma3: GgufFamily = {
  architecture: "gemma3",
  modelTypes: ["gemma3_text"],
  names: gemmaNames,
  config(settings, facts) {
    const words = llamaWords(settings, facts);
    const { num_hidden_layers: layers, hidden_size: width, num_attention_heads: heads, head_dim: size } = words;
    const window = settings.wholeOrNone("attention.sliding_window");
    if (window === undefined) settings.problem("attention.sliding_window is missing, and a whole number above 0 is wanted");
    const every = settings.whole("attention.sliding_window_pattern", 6);
    const cap = settings.numberOrNone("final_logit_softcapping");
    return {
      architectures: ["Gemma3ForCausalLM"],
      model_type: "gemma3_text",
      ...words,
      ...rotary(settings, size, facts, 1_000_000),
      rope_local_base_freq: asWritten(settings.number("rope.freq_base_swa", 10_000)),
      hidden_activation: "gelu_pytorch_tanh",
      attention_bias: false,
      query_pre_attn_scalar: queryScalar(layers, 62, { width, heads, size }),
      sliding_window: window,
      layer_types: Array.from({ length: layers }, (_, i) => ((i + 1) % every === 0 ? "full_attention" : "sliding_attention")),
      ...(cap !== undefined && { final_logit_softcapping: asWritten(cap) }),
    };
  },
  settings: (model) => ({ ...llamaSettings(model), ...windowSettings(model), ...capSettings(model) }),
  reasons: (model) => gemmaReasons(model, 62),
};

function windowSettings({ window, windowEvery, ropeLocalBase }: DecoderConfig) {
  return {
    ...(window !== undefined && { "attention.sliding_window": whole(window) }),
    ...(windowEvery !== undefined && { "attention.sliding_window_pattern": whole(windowEvery) }),
    ...(ropeLocalBase !== undefined && { "rope.freq_base_swa": float(ropeLocalBase) }),
  };
}

const capSettings = ({ scoreCap, scoresCap }: DecoderConfig) => ({
  ...(scoreCap !== undefined && { attn_logit_softcapping: float(scoreCap) }),
  ...(scoresCap !== undefined && { final_logit_softcapping: float(scoresCap) }),
});

const gpt2: GgufFamily = {
  architecture: "gpt2",
  modelTypes: ["gpt2"],
  names: gpt2Names,
  config(settings, facts) {
    const { heads, width, layers, context, hidden, vocab, tie } = common(settings, facts);
    return {
      architectures: ["GPT2LMHeadModel"],
      model_type: "gpt2",
      n_layer: layers,
      n_head: heads,
      n_embd: width,
      n_inner: hidden,
      n_positions: context,
      vocab_size: vocab,
      activation_function: facts.exactGelu ? "gelu" : "gelu_new",
      layer_norm_epsilon: asWritten(settings.number("attention.layer_norm_epsilon")),
      tie_word_embeddings: tie,
    };
  },
  settings: (model) => ({ ...commonSettings(model), "attention.layer_norm_epsilon": float(epsilonOf(model)) }),
  reasons: ({ activation }) =>
    activation === "gelu-tanh" || activation === "gelu" ? [] : [`activation is ${activation} (only gelu-tanh)`],
};

/** GPT-NeoX and Phi turn a share of each head. */
function partlyTurned(settings: ConfigReader, size: number): JsonObject {
  const turned = settings.whole("rope.dimension_count", size);
  return { rope_theta: asWritten(settings.number("rope.freq_base", 10_000)), share: turned / size };
}

const sharedSettings = (model: DecoderConfig) => ({
  ...commonSettings(model),
  "attention.layer_norm_epsilon": float(epsilonOf(model)),
  "rope.freq_base": float(model.ropeBase),
  "rope.dimension_count": whole(Math.floor(sizesOf(model).size * model.ropeShare)),
});

const neox: GgufFamily = {
  architecture: "gptneox",
  modelTypes: ["gpt_neox"],
  names: neoxNames,
  config(settings, facts) {
    const { heads, width, size, layers, context, hidden, vocab, tie } = common(settings, facts);
    const { rope_theta, share } = partlyTurned(settings, size);
    return {
      architectures: ["GPTNeoXForCausalLM"],
      model_type: "gpt_neox",
      hidden_size: width,
      intermediate_size: hidden,
      num_hidden_layers: layers,
      num_attention_heads: heads,
      max_position_embeddings: context,
      vocab_size: vocab,
      layer_norm_eps: asWritten(settings.number("attention.layer_norm_epsilon")),
      hidden_act: "gelu",
      rotary_emb_base: rope_theta,
      rotary_pct: share,
      use_parallel_residual: settings.boolean("use_parallel_residual", true),
      attention_bias: true,
      tie_word_embeddings: tie,
    };
  },
  settings: (model) => ({
    ...sharedSettings(model),
    use_parallel_residual: { type: "bool", value: model.parallel !== "none" },
  }),
  reasons: ({ tie }) => (tie ? ["the scores share the table of tokens (only with one of their own)"] : []),
};

const phi2: GgufFamily = {
  architecture: "phi2",
  modelTypes: ["phi"],
  names: phiNames,
  config(settings, facts) {
    const { heads, kvHeads, width, size, layers, context, hidden, vocab, tie } = common(settings, facts);
    const { rope_theta, share } = partlyTurned(settings, size);
    return {
      architectures: ["PhiForCausalLM"],
      model_type: "phi",
      hidden_size: width,
      intermediate_size: hidden,
      num_hidden_layers: layers,
      num_attention_heads: heads,
      num_key_value_heads: kvHeads,
      max_position_embeddings: context,
      vocab_size: vocab,
      layer_norm_eps: asWritten(settings.number("attention.layer_norm_epsilon")),
      hidden_act: "gelu_new",
      rope_theta,
      partial_rotary_factor: share,
      qk_layernorm: false,
      tie_word_embeddings: tie,
    };
  },
  settings: sharedSettings,
};

export const ggufFamilies: readonly GgufFamily[] = [llama, qwen2, qwen3, gemma, gemma2, gemma3, gpt2, neox, phi2];

/** The architecture that a family of Hugging Face is kept as. */
export const ggufFamilyFor = (modelTypes: readonly string[]): GgufFamily | undefined =>
  ggufFamilies.find((one) => one.modelTypes.some((type) => modelTypes.includes(type)));

/** The family of a file. */
export function ggufFamilyOf(metadata: GgufMetadata, where: string): GgufFamily {
  const architecture = metadata.get("general.architecture")?.value;
  const found = ggufFamilies.find((family) => family.architecture === architecture);
  if (found) return found;
  const known = ggufFamilies.map((family) => family.architecture).join(", ");
  const what =
    typeof architecture === "string"
      ? `the architecture ${JSON.stringify(architecture.slice(0, 60))} is not known`
      : "there is no general.architecture";
  throw new FormatError(`${where}: ${what}; those that are read are ${known}`, { code: "config.unknown-name" });
}

/** The settings of a file's architecture, by their names after its own. A list for all layers counts where they are all alike. */
export function settingsOf(metadata: GgufMetadata, { architecture }: GgufFamily): ConfigReader {
  const own = [...metadata].filter(([key]) => key.startsWith(`${architecture}.`));
  return new ConfigReader(Object.fromEntries(own.map(([key, { value }]) => [key.slice(architecture.length + 1), plain(value)])));
}

function plain(value: GgufValue["value"]): unknown {
  if (typeof value === "bigint") return value.toString();
  if (!Array.isArray(value)) return value;
  return value.length > 0 && value.every((item) => item === value[0]) ? value[0] : value;
}
