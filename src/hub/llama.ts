import type { DecoderConfig } from "../models/config.ts";
import { asDecoder, asItCame, epsilonOf, headSizes, joinedHeads, rotaryOf, sizesOf } from "./decoder-parts.ts";
import { denseRules, type Family, normRules, same } from "./family.ts";
import { refusals, wants } from "./reasons.ts";

/** Llama 1–3, TinyLlama, SmolLM: rotary positions, RMSNorm, SwiGLU; queries may share keys and values. */
export const llama: Family = {
  name: "Llama",
  modelTypes: ["llama"],
  architectures: ["LlamaForCausalLM"],
  prefix: "model.",
  read(hf) {
    const attention = hf.boolean("attention_bias", false);
    hf.must("mlp_bias", false);
    return { model: { ...llamaLike(hf), bias: attention ? "all" : "none" } };
  },
  write(model, { original }) {
    if (original) return asItCame("Llama")(model, { original });
    const reasons = refusals(model, {
      ...wants.plainDecoder,
      positions: ["rotary"],
      norm: ["rms"],
      normPlace: ["pre"],
      bias: ["all", "none"],
      activation: ["swiglu"],
      ropeShare: [1],
    });
    if (reasons.length > 0) return { reasons };
    return { config: llamaConfig(asDecoder(model)) };
  },
  tensors: (model) => llamaTensors(asDecoder(model)),
  ignores: (name, model) => llamaIgnores(name, asDecoder(model)),
};

/** What every descendant of Llama has in its config. */
export function llamaLike(hf: Parameters<Family["read"]>[0], usual: { readonly epsilon?: number; readonly tie?: boolean } = {}) {
  const [width, heads] = [hf.whole("hidden_size"), hf.whole("num_attention_heads")];
  return {
    model: "decoder",
    layers: hf.whole("num_hidden_layers"),
    heads,
    kvHeads: hf.whole("num_key_value_heads", heads),
    width,
    hidden: hf.whole("intermediate_size"),
    ...headSizes(hf, width, heads),
    context: hf.whole("max_position_embeddings", 2048),
    vocab: hf.whole("vocab_size"),
    ...rotaryOf(hf),
    norm: "rms",
    epsilon: hf.number("rms_norm_eps", usual.epsilon ?? 1e-6),
    activation: hf.choice(["hidden_act", "hidden_activation"], { silu: "swiglu", swish: "swiglu" } as const, "silu"),
    tie: hf.boolean("tie_word_embeddings", usual.tie ?? false),
  } as const;
}

export const llamaIgnores = (name: string, { tie }: DecoderConfig): boolean =>
  /rotary_emb\.(inv_freq|cos_cached|sin_cached)$/.test(name) || (tie && name === "lm_head.weight");

/** The names of Llama and its descendants. */
export function llamaTensors(model: DecoderConfig) {
  const { vocab, tie, bias, qkNorm } = model;
  const sizes = sizesOf(model);
  const { layers, width, heads, size, hidden } = sizes;
  const blocks = Array.from({ length: layers }, (_, i) => {
    const [ours, theirs] = [`decoder/block.${i}`, `model.layers.${i}`];
    const [attention, feedforward] = [`${ours}/attention`, `${ours}/feedforward`];
    return [
      ...normRules(`${ours}/norm1`, `${theirs}.input_layernorm`, width, false),
      ...joinedHeads(`${attention}/qkv`, sizes, (which) => `${theirs}.self_attn.${which}_proj`, bias !== "none"),
      ...(qkNorm
        ? [
            same(`${attention}/q-norm/scale`, `${theirs}.self_attn.q_norm.weight`, [size]),
            same(`${attention}/k-norm/scale`, `${theirs}.self_attn.k_norm.weight`, [size]),
          ]
        : []),
      ...denseRules(`${attention}/out`, `${theirs}.self_attn.o_proj`, [width, heads * size], bias === "all"),
      ...normRules(`${ours}/norm2`, `${theirs}.post_attention_layernorm`, width, false),
      ...denseRules(`${feedforward}/gate`, `${theirs}.mlp.gate_proj`, [hidden, width], false),
      ...denseRules(`${feedforward}/expand`, `${theirs}.mlp.up_proj`, [hidden, width], false),
      ...denseRules(`${feedforward}/contract`, `${theirs}.mlp.down_proj`, [width, hidden], false),
    ];
  });
  return [
    same("decoder/tokens", "model.embed_tokens.weight", [vocab, width]),
    ...blocks.flat(),
    ...normRules("decoder/norm", "model.norm", width, false),
    ...(tie ? [] : [same("decoder/scores/weight", "lm_head.weight", [vocab, width])]),
  ];
}

/** A decoder of ours that is a Llama, in the words of transformers 5 and of those before it. */
function llamaConfig(model: DecoderConfig) {
  const { vocab, tie, context, bias, ropeBase, ropeScaling, ropeFactor, ropeLowFactor, ropeHighFactor, ropeOriginal } = model;
  const { layers, width, heads, kvHeads, size, hidden } = sizesOf(model);
  const scaling =
    ropeScaling === "none"
      ? undefined
      : {
          rope_type: ropeScaling,
          factor: ropeFactor,
          ...(ropeScaling === "llama3" && {
            low_freq_factor: ropeLowFactor,
            high_freq_factor: ropeHighFactor,
            original_max_position_embeddings: ropeOriginal,
          }),
        };
  return {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    hidden_size: width,
    intermediate_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: size,
    max_position_embeddings: context,
    vocab_size: vocab,
    hidden_act: "silu",
    rms_norm_eps: epsilonOf(model),
    rope_theta: ropeBase,
    ...(scaling && { rope_scaling: scaling }),
    rope_parameters: { rope_theta: ropeBase, ...(scaling ?? { rope_type: "default" }) },
    attention_bias: bias === "all",
    mlp_bias: false,
    tie_word_embeddings: tie,
  };
}
