import { asDecoder, asItCame, joinedHeads, sizesOf } from "./decoder-parts.ts";
import { denseRules, type Family, joined, normRules, rowsFrom, same } from "./family.ts";

/** The rows of OPT's table of positions that no token of a text without padding reads. */
const offset = 2;

/** OPT: learned positions that begin at row 2, ReLU. The 350M model, whose tokens are narrower than its layers, is refused. */
export const opt: Family = {
  name: "OPT",
  modelTypes: ["opt"],
  architectures: ["OPTForCausalLM"],
  prefix: "model.",
  read(hf) {
    const width = hf.whole("hidden_size");
    const narrow = hf.whole("word_embed_proj_dim", width);
    if (narrow !== width) hf.problem(`word_embed_proj_dim is ${narrow}: tokens that are narrower than the layers (${width}) are not known`);
    hf.must("enable_bias", true);
    hf.must("layer_norm_elementwise_affine", true);
    const before = hf.boolean("do_layer_norm_before", true);
    if (before) hf.must("_remove_final_layer_norm", false);
    return {
      model: {
        model: "decoder",
        layers: hf.whole("num_hidden_layers"),
        heads: hf.whole("num_attention_heads"),
        width,
        hidden: hf.whole("ffn_dim"),
        context: hf.whole("max_position_embeddings", 2048),
        vocab: hf.whole("vocab_size"),
        positions: "learned",
        norm: "layer",
        normPlace: before ? "pre" : "post",
        activation: hf.choice("activation_function", { relu: "relu", gelu: "gelu", gelu_new: "gelu-tanh" } as const, "relu"),
        tie: hf.boolean("tie_word_embeddings", true),
      },
    };
  },
  write: asItCame("OPT"),
  tensors(model) {
    const { vocab, tie, context, normPlace } = asDecoder(model);
    const sizes = sizesOf(asDecoder(model));
    const { layers, width, hidden } = sizes;
    const root = "model.decoder";
    const blocks = Array.from({ length: layers }, (_, i) => {
      const [ours, theirs] = [`decoder/block.${i}`, `${root}.layers.${i}`];
      return [
        ...normRules(`${ours}/norm1`, `${theirs}.self_attn_layer_norm`, width),
        ...joinedHeads(`${ours}/attention/qkv`, sizes, (which) => `${theirs}.self_attn.${which}_proj`, true),
        ...denseRules(`${ours}/attention/out`, `${theirs}.self_attn.out_proj`, [width, width]),
        ...normRules(`${ours}/norm2`, `${theirs}.final_layer_norm`, width),
        ...denseRules(`${ours}/feedforward/expand`, `${theirs}.fc1`, [hidden, width]),
        ...denseRules(`${ours}/feedforward/contract`, `${theirs}.fc2`, [width, hidden]),
      ];
    });
    const places = { name: `${root}.embed_positions.weight`, shape: [context + offset, width], turn: rowsFrom(offset, context) };
    return [
      same("decoder/tokens", `${root}.embed_tokens.weight`, [vocab, width]),
      joined("decoder/positions/table", [places]),
      ...blocks.flat(),
      ...(normPlace === "pre" ? normRules("decoder/norm", `${root}.final_layer_norm`, width) : []),
      ...(tie ? [] : [same("decoder/scores/weight", "lm_head.weight", [vocab, width])]),
    ];
  },
  ignores: (name, model) => asDecoder(model).tie && name === "lm_head.weight",
};
