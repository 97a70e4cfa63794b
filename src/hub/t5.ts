import type { Architecture } from "../models/any.ts";
import { joinedHeads, sizesOf } from "./decoder-parts.ts";
import { asTranslator } from "./encoder-parts.ts";
import { denseRules, type Family, normRules, same, type TensorRule } from "./family.ts";

const gates = { relu: "relu", gelu: "gelu", "gated-gelu": "geglu-tanh", "gated-silu": "swiglu", "gated-relu": undefined } as const;

/**
 * T5 and flan-T5: one table of relative positions for each stack, RMSNorm, no biases, scores that are not scaled. The first release has
 * the embeddings for scores and makes states smaller before; 1.1 and flan have weights of their own, and a gate.
 */
export const t5: Family = {
  name: "T5",
  modelTypes: ["t5"],
  architectures: ["T5ForConditionalGeneration", "T5WithLMHeadModel"],
  prefix: "",
  read(hf) {
    const [width, heads, size] = [hf.whole("d_model", 512), hf.whole("num_heads", 8), hf.whole("d_kv", 64)];
    const layers = hf.whole("num_layers", 6);
    const decoderLayers = hf.whole("num_decoder_layers", layers);
    // transformers 5 says `scale_decoder_outputs`, and true to the other; before, both were one.
    const tied = hf.boolean("tie_word_embeddings", true);
    const scaled = hf.boolean("scale_decoder_outputs", tied);
    hf.value("is_gated_act", "dense_act_fn"); // both follow from feed_forward_proj
    const activation = hf.choice("feed_forward_proj", gates, "relu");
    if (activation === undefined) hf.problem("feed_forward_proj: a gate of ReLU is not known");
    return {
      model: {
        model: "encoder-decoder",
        layers,
        ...(decoderLayers !== layers && { decoderLayers }),
        heads,
        width,
        ...(size * heads !== width && { keySize: size, valueSize: size }),
        hidden: hf.whole("d_ff", 2048),
        context: hf.whole("n_positions", 512),
        vocab: hf.whole("vocab_size", 32_128),
        dropout: hf.number("dropout_rate", 0.1),
        score: "dot",
        positions: "relative",
        relativeShared: true,
        relativeBuckets: hf.whole("relative_attention_num_buckets", 32),
        relativeFarthest: hf.whole("relative_attention_max_distance", 128),
        norm: "rms",
        epsilon: hf.number("layer_norm_epsilon", 1e-6),
        bias: "none",
        activation: activation ?? "relu",
        tie: scaled,
        ...(scaled && { scoresScale: width ** -0.5 }),
      },
    };
  },
  write(_, { original }) {
    return original ? { config: original } : { reasons: ["only a model that began as a T5 is written as one"] };
  },
  tensors: (model) => t5Tensors(model),
  ignores: (name, model) =>
    /^(encoder|decoder)\.embed_tokens\.weight$/.test(name) ||
    name === "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight" ||
    (asTranslator(model).tie && name === "lm_head.weight"),
  // 1.1 saved by Python with the embeddings for scores leaves the copy out
  alsoCalled: (name) => (name === "lm_head.weight" ? ["shared.weight"] : name === "shared.weight" ? ["encoder.embed_tokens.weight"] : []),
};

function t5Tensors(given: Architecture): TensorRule[] {
  const model = asTranslator(given);
  const { vocab, tie, activation, relativeBuckets, decoderLayers = model.layers } = model;
  const sizes = sizesOf(model);
  const { layers, width, hidden, heads, size } = sizes;
  const own = (ours: string, theirs: string) => [
    ...normRules(`${ours}/norm1`, `${theirs}.layer.0.layer_norm`, width, false),
    ...joinedHeads(`${ours}/attention/qkv`, sizes, (which) => `${theirs}.layer.0.SelfAttention.${which}`, false),
    ...denseRules(`${ours}/attention/out`, `${theirs}.layer.0.SelfAttention.o`, [width, heads * size], false),
  ];
  const cross = (ours: string, theirs: string) => [
    ...normRules(`${ours}/normcross`, `${theirs}.layer.1.layer_norm`, width, false),
    ...(["q", "k", "v"] as const).flatMap((which) =>
      denseRules(`${ours}/cross/${which}`, `${theirs}.layer.1.EncDecAttention.${which}`, [heads * size, width], false),
    ),
    ...denseRules(`${ours}/cross/out`, `${theirs}.layer.1.EncDecAttention.o`, [width, heads * size], false),
  ];
  const gated = activation.endsWith("glu") || activation === "geglu-tanh";
  const forward = (ours: string, theirs: string) => [
    ...normRules(`${ours}/norm2`, `${theirs}.layer_norm`, width, false),
    ...(gated ? denseRules(`${ours}/feedforward/gate`, `${theirs}.DenseReluDense.wi_0`, [hidden, width], false) : []),
    ...denseRules(`${ours}/feedforward/expand`, `${theirs}.DenseReluDense.${gated ? "wi_1" : "wi"}`, [hidden, width], false),
    ...denseRules(`${ours}/feedforward/contract`, `${theirs}.DenseReluDense.wo`, [width, hidden], false),
  ];
  const stack = (name: "encoder" | "decoder", count: number) => [
    same(`model/${name}/relative`, `${name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight`, [relativeBuckets, heads]),
    ...Array.from({ length: count }, (_, i) => {
      const [ours, theirs] = [`model/${name}/block.${i}`, `${name}.block.${i}`];
      return name === "encoder"
        ? [...own(ours, theirs), ...forward(ours, `${theirs}.layer.1`)]
        : [...own(ours, theirs), ...cross(ours, theirs), ...forward(ours, `${theirs}.layer.2`)];
    }).flat(),
    ...normRules(`model/${name}/norm`, `${name}.final_layer_norm`, width, false),
  ];
  return [
    same("model/tokens", "shared.weight", [vocab, width]),
    ...stack("encoder", layers),
    ...stack("decoder", decoderLayers),
    ...(tie ? [] : [same("model/scores/weight", "lm_head.weight", [vocab, width])]),
  ];
}
