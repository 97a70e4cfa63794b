import type { DecoderConfig } from "../models/config.ts";
import type { ConfigReader } from "./config-reader.ts";
import { asDecoder, asItCame, headSizes, rotaryOf, scalingOf, windowOf } from "./decoder-parts.ts";
import { type Family, normRules, same, type TensorRule } from "./family.ts";
import { llamaIgnores, llamaTensors } from "./llama.ts";

// Gemma multiplies by 1 + weight in its norms, gates with GELU, and multiplies tokens by √width as they come in.

function gemmaLike(hf: ConfigReader) {
  const [width, heads] = [hf.whole("hidden_size"), hf.whole("num_attention_heads")];
  hf.must("attention_bias", false);
  return {
    model: "decoder",
    layers: hf.whole("num_hidden_layers"),
    heads,
    kvHeads: hf.whole("num_key_value_heads", heads),
    width,
    hidden: hf.whole("intermediate_size"),
    ...headSizes(hf, width, heads, 256),
    context: hf.whole("max_position_embeddings", 8192),
    vocab: hf.whole("vocab_size"),
    norm: "rms",
    epsilon: hf.number("rms_norm_eps", 1e-6),
    bias: "none",
    embeddingScale: Math.fround(Math.sqrt(width)),
    tie: hf.boolean("tie_word_embeddings", true),
  } as const;
}

/** Older files of the first Gemma say "gelu" and mean the other one, as Python reads them. */
const gates = { gelu_pytorch_tanh: "geglu-tanh", gelu_new: "geglu-tanh", gelu_fast: "geglu-tanh" } as const;

export const gemma: Family = {
  name: "Gemma",
  modelTypes: ["gemma"],
  architectures: ["GemmaForCausalLM"],
  prefix: "model.",
  read(hf) {
    hf.value("hidden_act"); // replaced by the other, and by GELU with tanh where that is missing
    const activation = hf.choice("hidden_activation", gates, "gelu_pytorch_tanh");
    return { model: { ...gemmaLike(hf), ...rotaryOf(hf), activation } };
  },
  write: asItCame("Gemma"),
  tensors: (model) => gemmaTensors(asDecoder(model)),
  ignores: (name, model) => llamaIgnores(name, asDecoder(model)),
};

/** Scores of attention and of tokens are capped, and every layer has a norm before and after. */
function gemma23(hf: ConfigReader) {
  const model = gemmaLike(hf);
  hf.value("hidden_act");
  hf.must("use_bidirectional_attention", false);
  const [scoreCap, scoresCap] = [hf.numberOrNone("attn_logit_softcapping"), hf.numberOrNone("final_logit_softcapping")];
  return {
    ...model,
    activation: hf.choice("hidden_activation", gates, "gelu_pytorch_tanh"),
    normPlace: "both",
    scale: hf.number("query_pre_attn_scalar", 256) ** -0.5,
    ...(scoreCap !== undefined && { scoreCap }),
    ...(scoresCap !== undefined && { scoresCap }),
  } as const;
}

export const gemma2: Family = {
  ...gemma,
  name: "Gemma 2",
  modelTypes: ["gemma2"],
  architectures: ["Gemma2ForCausalLM"],
  read(hf) {
    const model = gemma23(hf);
    hf.value("cache_implementation");
    return { model: { ...model, ...rotaryOf(hf), ...windowOf(hf, model.layers, hf.wholeOrNone("sliding_window") ?? 4096, 2) } };
  },
};

export const gemma3: Family = {
  ...gemma,
  name: "Gemma 3",
  modelTypes: ["gemma3_text"],
  architectures: ["Gemma3ForCausalLM"],
  read(hf) {
    const model = gemma23(hf);
    hf.value("cache_implementation");
    const every = hf.wholeOrNone("sliding_window_pattern", "_sliding_window_pattern") ?? 6;
    const window = windowOf(hf, model.layers, hf.wholeOrNone("sliding_window") ?? 4096, every);
    return { model: { ...model, qkNorm: true, ...twoBases(hf), ...window } };
  },
};

/** Layers with a window have a base of their own. */
function twoBases(hf: ConfigReader): Record<string, unknown> {
  const both = hf.part("rope_parameters");
  if (!both) {
    const scaling = hf.part("rope_scaling");
    const local = hf.number("rope_local_base_freq", 10_000);
    return { positions: "rotary", ropeBase: hf.number("rope_theta", 1e6), ropeLocalBase: local, ...(scaling && scalingOf(scaling, hf)) };
  }
  hf.value("rope_scaling", "rope_theta", "rope_local_base_freq");
  const [full, local] = [both.part("full_attention"), both.part("sliding_attention")];
  if (!full || !local) hf.problem("rope_parameters has no full_attention or no sliding_attention");
  if (local) scalingOf(local, hf).ropeScaling && hf.problem("rope_parameters.sliding_attention is scaled, which is not known");
  return {
    positions: "rotary",
    ropeBase: full?.number("rope_theta", 1e6),
    ropeLocalBase: local?.number("rope_theta", 10_000),
    ...(full && scalingOf(full, hf)),
  };
}

/** Llama's names, with norms that keep their weight less 1, and in later Gemmas two more of them around the feed-forward layer. */
function gemmaTensors(model: DecoderConfig): TensorRule[] {
  const { width, layers, normPlace } = model;
  const llamas = llamaTensors(model).filter(({ ours }) => normPlace !== "both" || !ours.endsWith("/norm2/scale"));
  const around =
    normPlace !== "both"
      ? []
      : Array.from({ length: layers }, (_, i) => {
          const [ours, theirs] = [`decoder/block.${i}`, `model.layers.${i}`];
          return [
            ...normRules(`${ours}/norm1-after`, `${theirs}.post_attention_layernorm`, width, false),
            ...normRules(`${ours}/norm2`, `${theirs}.pre_feedforward_layernorm`, width, false),
            same(`${ours}/norm2-after/scale`, `${theirs}.post_feedforward_layernorm.weight`, [width]),
          ];
        }).flat();
  return [...llamas, ...around].map((rule) => (rule.ours.endsWith("/scale") ? lessOne(rule) : rule));
}

const lessOne = (rule: TensorRule): TensorRule =>
  "theirs" in rule ? { ...rule, theirs: rule.theirs.map((piece) => ({ ...piece, turn: { kind: "add", number: 1 } })) } : rule;
