import { kindOf } from "./bert.ts";
import { joinedHeads, sizesOf } from "./decoder-parts.ts";
import { asEncoder, denseActivations, type HeadKind, headOf, rewritten } from "./encoder-parts.ts";
import { denseRules, type Family, normRules, same, type TensorRule } from "./family.ts";

const classes = {
  classify: "DistilBertForSequenceClassification",
  tag: "DistilBertForTokenClassification",
  mlm: "DistilBertForMaskedLM",
  embed: "DistilBertModel",
} as const satisfies Record<HeadKind, string>;

/** BERT with half of its layers, without segments, and with other names. */
export const distilbert: Family = {
  name: "DistilBERT",
  modelTypes: ["distilbert"],
  architectures: [classes.embed, classes.classify, classes.tag, classes.mlm],
  prefix: "distilbert.",
  classifier: { pool: "first", pooler: "relu" },
  read(hf, architecture) {
    const { model, labels } = headOf(hf, kindOf(classes, architecture), { pool: "first", pooler: "relu" });
    const width = hf.whole(["dim", "hidden_size"], 768);
    hf.value("qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds", "tie_weights_"); // sinusoids are only how the table began
    const settings = {
      model: "encoder",
      layers: hf.whole(["n_layers", "num_hidden_layers"], 6),
      heads: hf.whole(["n_heads", "num_attention_heads"], 12),
      width,
      hidden: hf.whole("hidden_dim", 4 * width),
      context: hf.whole("max_position_embeddings", 512),
      vocab: hf.whole("vocab_size", 30_522),
      dropout: hf.number("dropout", 0.1),
      positions: "learned",
      embeddingNorm: true,
      norm: "layer",
      normPlace: "post",
      epsilon: 1e-12,
      activation: hf.choice("activation", denseActivations, "gelu"),
    } as const;
    return { model: { ...settings, ...model }, ...(labels && { labels }) };
  },
  write: (model, from) => rewritten(model, from, classes, distilbert),
  tensors(given) {
    const model = asEncoder(given);
    const { vocab, context, labels, task } = model;
    const sizes = sizesOf(model);
    const { layers, width, hidden } = sizes;
    const root = task === "embed" ? "" : "distilbert.";
    const blocks = Array.from({ length: layers }, (_, i) => {
      const [ours, theirs] = [`encoder/block.${i}`, `${root}transformer.layer.${i}`];
      return [
        ...joinedHeads(`${ours}/attention/qkv`, sizes, (which) => `${theirs}.attention.${which}_lin`, true),
        ...denseRules(`${ours}/attention/out`, `${theirs}.attention.out_lin`, [width, width]),
        ...normRules(`${ours}/norm1`, `${theirs}.sa_layer_norm`, width),
        ...denseRules(`${ours}/feedforward/expand`, `${theirs}.ffn.lin1`, [hidden, width]),
        ...denseRules(`${ours}/feedforward/contract`, `${theirs}.ffn.lin2`, [width, hidden]),
        ...normRules(`${ours}/norm2`, `${theirs}.output_layer_norm`, width),
      ];
    });
    const heads: Record<HeadKind, () => TensorRule[]> = {
      classify: () => [
        ...denseRules("encoder/pooler", "pre_classifier", [width, width]),
        ...denseRules("encoder/labels", "classifier", [labels, width]),
      ],
      tag: () => denseRules("encoder/labels", "classifier", [labels, width]),
      mlm: () => [
        ...denseRules("encoder/head", "vocab_transform", [width, width]),
        ...normRules("encoder/head/norm", "vocab_layer_norm", width),
        ...(model.tie ? [] : [same("encoder/scores/weight", "vocab_projector.weight", [vocab, width])]),
        same("encoder/scores/bias", "vocab_projector.bias", [vocab]),
      ],
      embed: () => [],
    };
    return [
      same("encoder/tokens", `${root}embeddings.word_embeddings.weight`, [vocab, width]),
      same("encoder/positions/table", `${root}embeddings.position_embeddings.weight`, [context, width]),
      ...normRules("encoder/embedding-norm", `${root}embeddings.LayerNorm`, width),
      ...blocks.flat(),
      ...heads[task](),
    ];
  },
  ignores: (name, model) =>
    /^(distilbert\.)?embeddings\.position_ids$|^vocab_projector\.weight$/.test(name) ||
    (asEncoder(model).task === "embed" && name.startsWith("vocab_")),
  alsoCalled: (name) => (/^(embeddings|transformer)\./.test(name) ? [`distilbert.${name}`] : []),
};
