import { asDecoder, asItCame, byHead, rotaryOf, sizesOf } from "./decoder-parts.ts";
import { denseRules, type Family, joined, normRules, same } from "./family.ts";

/** Pythia and GPT-NeoX: attention and feed-forward side by side; rows of queries, keys and values go head by head. */
export const neox: Family = {
  name: "GPT-NeoX",
  modelTypes: ["gpt_neox"],
  architectures: ["GPTNeoXForCausalLM"],
  prefix: "gpt_neox.",
  read(hf) {
    const [width, heads] = [hf.whole("hidden_size"), hf.whole("num_attention_heads")];
    const bias = hf.boolean("attention_bias", true);
    if (!bias) hf.problem("attention_bias is false: biases in the feed-forward layer alone are not known");
    return {
      model: {
        model: "decoder",
        layers: hf.whole("num_hidden_layers"),
        heads,
        width,
        hidden: hf.whole("intermediate_size"),
        context: hf.whole("max_position_embeddings", 2048),
        vocab: hf.whole("vocab_size"),
        ...rotaryOf(hf, { share: 0.25 }),
        norm: "layer",
        epsilon: hf.number("layer_norm_eps", 1e-5),
        activation: hf.choice("hidden_act", { gelu: "gelu", gelu_new: "gelu-tanh", gelu_fast: "gelu-tanh", relu: "relu" } as const, "gelu"),
        parallel: hf.boolean("use_parallel_residual", true) ? "own-norm" : "none",
        tie: hf.boolean("tie_word_embeddings", false),
      },
    };
  },
  write: asItCame("GPT-NeoX"),
  tensors(model) {
    const { vocab, tie } = asDecoder(model);
    const { layers, width, heads, size, hidden } = sizesOf(asDecoder(model));
    const turn = byHead(heads, size);
    const blocks = Array.from({ length: layers }, (_, i) => {
      const [ours, theirs] = [`decoder/block.${i}`, `gpt_neox.layers.${i}`];
      const together = `${theirs}.attention.query_key_value`;
      return [
        ...normRules(`${ours}/norm1`, `${theirs}.input_layernorm`, width),
        joined(`${ours}/attention/qkv/weight`, [{ name: `${together}.weight`, shape: [3 * width, width], turn }]),
        joined(`${ours}/attention/qkv/bias`, [{ name: `${together}.bias`, shape: [3 * width], turn }]),
        ...denseRules(`${ours}/attention/out`, `${theirs}.attention.dense`, [width, width]),
        ...normRules(`${ours}/norm2`, `${theirs}.post_attention_layernorm`, width),
        ...denseRules(`${ours}/feedforward/expand`, `${theirs}.mlp.dense_h_to_4h`, [hidden, width]),
        ...denseRules(`${ours}/feedforward/contract`, `${theirs}.mlp.dense_4h_to_h`, [width, hidden]),
      ];
    });
    return [
      same("decoder/tokens", "gpt_neox.embed_in.weight", [vocab, width]),
      ...blocks.flat(),
      ...normRules("decoder/norm", "gpt_neox.final_layer_norm", width),
      ...(tie ? [] : [same("decoder/scores/weight", "embed_out.weight", [vocab, width])]),
    ];
  },
  alsoCalled: (name) => (name === "embed_out.weight" ? ["lm_head.weight"] : []),
  ignores: (name, model) =>
    /\.attention\.((masked_)?bias|rotary_emb\.inv_freq)$/.test(name) || (asDecoder(model).tie && name === "embed_out.weight"),
};
