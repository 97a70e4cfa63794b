import { asDecoder, asItCame, joinedHeads, rotaryOf, sizesOf } from "./decoder-parts.ts";
import { denseRules, type Family, normRules, same } from "./family.ts";

/** Phi 1, 1.5 and 2: attention and feed-forward share one norm and work side by side; a part of each head is turned. */
export const phi: Family = {
  name: "Phi",
  modelTypes: ["phi"],
  architectures: ["PhiForCausalLM"],
  prefix: "model.",
  read(hf) {
    const [width, heads] = [hf.whole("hidden_size"), hf.whole("num_attention_heads")];
    hf.must("qk_layernorm", false);
    return {
      model: {
        model: "decoder",
        layers: hf.whole("num_hidden_layers"),
        heads,
        kvHeads: hf.whole("num_key_value_heads", heads),
        width,
        hidden: hf.whole("intermediate_size"),
        context: hf.whole("max_position_embeddings", 2048),
        vocab: hf.whole("vocab_size"),
        ...rotaryOf(hf, { share: 0.5 }),
        norm: "layer",
        epsilon: hf.number("layer_norm_eps", 1e-5),
        activation: hf.choice("hidden_act", { gelu_new: "gelu-tanh", gelu_pytorch_tanh: "gelu-tanh", gelu: "gelu" } as const, "gelu_new"),
        parallel: "shared-norm",
        scoresBias: true,
        tie: hf.boolean("tie_word_embeddings", false),
      },
    };
  },
  write: asItCame("Phi"),
  tensors(model) {
    const { vocab, tie } = asDecoder(model);
    const sizes = sizesOf(asDecoder(model));
    const { layers, width, heads, size, hidden } = sizes;
    const blocks = Array.from({ length: layers }, (_, i) => {
      const [ours, theirs] = [`decoder/block.${i}`, `model.layers.${i}`];
      return [
        ...normRules(`${ours}/norm1`, `${theirs}.input_layernorm`, width),
        ...joinedHeads(`${ours}/attention/qkv`, sizes, (which) => `${theirs}.self_attn.${which}_proj`, true),
        ...denseRules(`${ours}/attention/out`, `${theirs}.self_attn.dense`, [width, heads * size]),
        ...denseRules(`${ours}/feedforward/expand`, `${theirs}.mlp.fc1`, [hidden, width]),
        ...denseRules(`${ours}/feedforward/contract`, `${theirs}.mlp.fc2`, [width, hidden]),
      ];
    });
    return [
      same("decoder/tokens", "model.embed_tokens.weight", [vocab, width]),
      ...blocks.flat(),
      ...normRules("decoder/norm", "model.final_layernorm", width),
      ...(tie ? [] : [same("decoder/scores/weight", "lm_head.weight", [vocab, width])]),
      same("decoder/scores/bias", "lm_head.bias", [vocab]),
    ];
  },
  ignores: (name, model) => /rotary_emb\.inv_freq$/.test(name) || (asDecoder(model).tie && name === "lm_head.weight"),
};
