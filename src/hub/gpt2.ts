import { asDecoder, asItCame, epsilonOf, sizesOf } from "./decoder-parts.ts";
import { type Family, normRules, same, transposed } from "./family.ts";
import { refusals, wants } from "./reasons.ts";

/** GPT-2 and DistilGPT-2: learned positions, LayerNorm before each sublayer, matrices kept [in, out] (Conv1D). */
export const gpt2: Family = {
  name: "GPT-2",
  modelTypes: ["gpt2"],
  architectures: ["GPT2LMHeadModel"],
  prefix: "transformer.",
  read(hf) {
    const width = hf.whole(["n_embd", "hidden_size"], 768);
    hf.must("scale_attn_weights", true);
    hf.must("scale_attn_by_inverse_layer_idx", false);
    hf.must("add_cross_attention", false);
    hf.value("n_ctx", "reorder_and_upcast_attn"); // the first repeats n_positions, the second is about half precision
    return {
      model: {
        model: "decoder",
        layers: hf.whole(["n_layer", "num_hidden_layers"], 12),
        heads: hf.whole(["n_head", "num_attention_heads"], 12),
        width,
        hidden: hf.wholeOrNone("n_inner") ?? 4 * width,
        context: hf.whole(["n_positions", "max_position_embeddings"], 1024),
        vocab: hf.whole("vocab_size", 50_257),
        positions: "learned",
        norm: "layer",
        epsilon: hf.number("layer_norm_epsilon", 1e-5),
        activation: hf.choice("activation_function", gpt2Activations, "gelu_new"),
        tie: hf.boolean("tie_word_embeddings", true),
      },
    };
  },
  write(model, { original }) {
    if (original) return asItCame("GPT-2")(model, { original });
    const reasons = refusals(model, {
      ...wants.plainDecoder,
      positions: ["learned"],
      joinPositions: ["add"],
      norm: ["layer"],
      normPlace: ["pre"],
      bias: ["all"],
      activation: ["gelu", "gelu-tanh", "relu", "relu2", "silu"],
    });
    if (reasons.length > 0) return { reasons };
    const { layers, heads, width, context, vocab, activation, tie, hidden = 4 * width } = asDecoder(model);
    const name = Object.entries(gpt2Activations).find(([, ours]) => ours === activation)?.[0];
    return {
      config: {
        architectures: ["GPT2LMHeadModel"],
        model_type: "gpt2",
        n_layer: layers,
        n_head: heads,
        n_embd: width,
        n_inner: hidden,
        n_positions: context,
        vocab_size: vocab,
        activation_function: name,
        layer_norm_epsilon: epsilonOf(asDecoder(model)),
        tie_word_embeddings: tie,
      },
    };
  },
  tensors(model) {
    const { context, vocab, tie } = asDecoder(model);
    const { layers, width, hidden } = sizesOf(asDecoder(model));
    const conv = (ours: string, theirs: string, from: number, out: number) => [
      transposed(`${ours}/weight`, `${theirs}.weight`, [from, out]),
      same(`${ours}/bias`, `${theirs}.bias`, [out]),
    ];
    const blocks = Array.from({ length: layers }, (_, i) => {
      const [ours, theirs] = [`decoder/block.${i}`, `transformer.h.${i}`];
      return [
        ...normRules(`${ours}/norm1`, `${theirs}.ln_1`, width),
        ...conv(`${ours}/attention/qkv`, `${theirs}.attn.c_attn`, width, 3 * width),
        ...conv(`${ours}/attention/out`, `${theirs}.attn.c_proj`, width, width),
        ...normRules(`${ours}/norm2`, `${theirs}.ln_2`, width),
        ...conv(`${ours}/feedforward/expand`, `${theirs}.mlp.c_fc`, width, hidden),
        ...conv(`${ours}/feedforward/contract`, `${theirs}.mlp.c_proj`, hidden, width),
      ];
    });
    return [
      same("decoder/tokens", "transformer.wte.weight", [vocab, width]),
      same("decoder/positions/table", "transformer.wpe.weight", [context, width]),
      ...blocks.flat(),
      ...normRules("decoder/norm", "transformer.ln_f", width),
      ...(tie ? [] : [same("decoder/scores/weight", "lm_head.weight", [vocab, width])]),
    ];
  },
  ignores: (name, model) => /\.attn\.(masked_)?bias$/.test(name) || (asDecoder(model).tie && name === "lm_head.weight"),
};

const gpt2Activations = {
  gelu_new: "gelu-tanh",
  gelu: "gelu",
  gelu_pytorch_tanh: "gelu-tanh",
  gelu_fast: "gelu-tanh",
  relu: "relu",
  relu2: "relu2",
  silu: "silu",
  swish: "silu",
} as const;
