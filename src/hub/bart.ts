import type { Architecture } from "../models/any.ts";
import type { ConfigReader } from "./config-reader.ts";
import { joinedHeads, sizesOf } from "./decoder-parts.ts";
import { asTranslator, denseActivations } from "./encoder-parts.ts";
import { denseRules, type Family, joined, normRules, rowsFrom, same, type TensorRule } from "./family.ts";

// BART and Marian: post-norm translators with the embeddings for scores, and a bias of these. BART learns its positions and normalises
// what it reads; Marian's positions are sinusoids, sines in the first half and cosines in the second.

/** The first rows of BART's positions are nobody's. */
const offset = 2;

export const bart: Family = {
  name: "BART",
  modelTypes: ["bart"],
  architectures: ["BartForConditionalGeneration", "BartModel"],
  prefix: "model.",
  read(hf, architecture) {
    hf.must("normalize_embedding", true);
    hf.must("static_position_embeddings", false);
    return { model: { ...bartLike(hf), embeddingNorm: true, scoresBias: architecture !== "BartModel" } };
  },
  write: (_, { original }) => (original ? { config: original } : { reasons: ["only a model that began as a BART is written as one"] }),
  tensors(given) {
    const { context, width } = asTranslator(given);
    return [
      ...bartTensors(given),
      ...(["encoder", "decoder"] as const).flatMap((name) => [
        joined(`model/${name}/positions/table`, [
          { name: `model.${name}.embed_positions.weight`, shape: [context + offset, width], turn: rowsFrom(offset, context) },
        ]),
        ...normRules(`model/${name}/embedding-norm`, `model.${name}.layernorm_embedding`, width),
      ]),
    ];
  },
  ignores: (name) => isCopy(name) || /^(model\.)?(encoder|decoder)\.version$/.test(name),
};

export const marian: Family = {
  name: "Marian",
  modelTypes: ["marian"],
  architectures: ["MarianMTModel"],
  prefix: "",
  fixed: ["model/encoder/positions", "model/decoder/positions"],
  read(hf) {
    hf.must("share_encoder_decoder_embeddings", true);
    hf.must("normalize_embedding", false);
    hf.must("static_position_embeddings", true);
    hf.value("decoder_vocab_size"); // the first is that of the shared table
    return { model: bartLike(hf) };
  },
  write: (_, { original }) => (original ? { config: original } : { reasons: ["only a model that began as a Marian is written as one"] }),
  tensors(given) {
    const { context, width } = asTranslator(given);
    const made = () => halves(context, width);
    return [...bartTensors(given), { ours: "model/encoder/positions/table", made }, { ours: "model/decoder/positions/table", made }];
  },
  ignores: (name) => isCopy(name) || /^model\.(encoder|decoder)\.embed_positions\.weight$/.test(name),
};

function bartLike(hf: ConfigReader) {
  const [width, layers, heads] = [hf.whole("d_model", 1024), hf.whole("encoder_layers", 12), hf.whole("encoder_attention_heads", 16)];
  const hidden = hf.whole("encoder_ffn_dim", 4096);
  const [decoderLayers, decoderHeads] = [hf.whole("decoder_layers", 12), hf.whole("decoder_attention_heads", 16)];
  const decoderHidden = hf.whole("decoder_ffn_dim", 4096);
  hf.must("normalize_before", false);
  hf.must("add_final_layer_norm", false);
  hf.must("add_bias_logits", false);
  hf.must("tie_word_embeddings", true);
  hf.value("extra_pos_embeddings", "save_step"); // written by the first releases, and not used
  hf.value("encoder_layerdrop", "decoder_layerdrop", "classif_dropout", "num_hidden_layers", "force_bos_token_to_be_generated");
  return {
    model: "encoder-decoder",
    layers,
    heads,
    width,
    hidden,
    ...(decoderLayers !== layers && { decoderLayers }),
    ...(decoderHeads !== heads && { decoderHeads }),
    ...(decoderHidden !== hidden && { decoderHidden }),
    context: hf.whole("max_position_embeddings", 1024),
    vocab: hf.whole("vocab_size", 50_265),
    dropout: hf.number("dropout", 0.1),
    positions: "learned",
    norm: "layer",
    normPlace: "post",
    epsilon: 1e-5,
    activation: hf.choice("activation_function", denseActivations, "gelu"),
    ...(hf.boolean("scale_embedding", false) && { embeddingScale: Math.sqrt(width) }),
    tie: true,
    scoresBias: true,
  } as const;
}

/** All but positions and what normalises them. */
function bartTensors(given: Architecture): TensorRule[] {
  const model = asTranslator(given);
  const { vocab, layers, width, heads, hidden, decoderLayers = layers, decoderHeads = heads, decoderHidden = hidden } = model;
  const projections = ["q", "k", "v"] as const;
  const stack = (name: "encoder" | "decoder", sizes: ReturnType<typeof sizesOf>) =>
    Array.from({ length: sizes.layers }, (_, i) => {
      const [ours, theirs] = [`model/${name}/block.${i}`, `model.${name}.layers.${i}`];
      return [
        ...joinedHeads(`${ours}/attention/qkv`, sizes, (which) => `${theirs}.self_attn.${which}_proj`, true),
        ...denseRules(`${ours}/attention/out`, `${theirs}.self_attn.out_proj`, [width, width]),
        ...normRules(`${ours}/norm1`, `${theirs}.self_attn_layer_norm`, width),
        ...(name === "encoder"
          ? []
          : [
              ...projections.flatMap((which) =>
                denseRules(`${ours}/cross/${which}`, `${theirs}.encoder_attn.${which}_proj`, [width, width]),
              ),
              ...denseRules(`${ours}/cross/out`, `${theirs}.encoder_attn.out_proj`, [width, width]),
              ...normRules(`${ours}/normcross`, `${theirs}.encoder_attn_layer_norm`, width),
            ]),
        ...denseRules(`${ours}/feedforward/expand`, `${theirs}.fc1`, [sizes.hidden, width]),
        ...denseRules(`${ours}/feedforward/contract`, `${theirs}.fc2`, [width, sizes.hidden]),
        ...normRules(`${ours}/norm2`, `${theirs}.final_layer_norm`, width),
      ];
    }).flat();
  return [
    same("model/tokens", "model.shared.weight", [vocab, width]),
    ...stack("encoder", sizesOf(model)),
    ...stack("decoder", sizesOf({ ...model, layers: decoderLayers, heads: decoderHeads, hidden: decoderHidden })),
    ...(model.scoresBias ? [same("model/scores/bias", "final_logits_bias", [1, vocab])] : []),
  ];
}

const isCopy = (name: string): boolean => name === "lm_head.weight" || /^model\.(encoder|decoder)\.embed_tokens\.weight$/.test(name);

/** sin(p/10000^(2c/width)) in column c of the first half, the cosine in that of the second. */
function halves(context: number, width: number): Float32Array {
  const table = new Float32Array(context * width);
  const half = Math.ceil(width / 2);
  for (let place = 0; place < context; place++)
    for (let column = 0; column < width; column++) {
      const angle = place / 10_000 ** ((2 * (column % half)) / width);
      table[place * width + column] = column < half ? Math.sin(angle) : Math.cos(angle);
    }
  return table;
}
