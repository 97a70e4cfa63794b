import type { ConfigReader } from "./config-reader.ts";
import { joinedHeads, sizesOf } from "./decoder-parts.ts";
import { asEncoder, denseActivations, type HeadKind, headOf, rewritten } from "./encoder-parts.ts";
import { denseRules, type Family, normRules, rowsFrom, same, type TensorRule } from "./family.ts";

// BERT and RoBERTa: post-norm encoders with learned positions and a norm after the embeddings. They differ in their heads, and RoBERTa
// leaves the first two rows of its positions to padding.

const bertClasses = {
  classify: "BertForSequenceClassification",
  tag: "BertForTokenClassification",
  mlm: "BertForMaskedLM",
  embed: "BertModel",
} as const satisfies Record<HeadKind, string>;

const robertaClasses = {
  classify: "RobertaForSequenceClassification",
  tag: "RobertaForTokenClassification",
  mlm: "RobertaForMaskedLM",
  embed: "RobertaModel",
} as const satisfies Record<HeadKind, string>;

/** BERT, MiniLM and sentence embedders made of them. */
export const bert: Family = {
  name: "BERT",
  modelTypes: ["bert"],
  architectures: [bertClasses.embed, bertClasses.classify, bertClasses.tag, bertClasses.mlm, "BertForPreTraining"],
  prefix: "bert.",
  classifier: { pool: "first", pooler: "tanh" },
  read(hf, architecture) {
    const kind = architecture === "BertForPreTraining" ? "mlm" : kindOf(bertClasses, architecture);
    const { model, labels } = headOf(hf, kind, { pool: "first", pooler: "tanh" });
    return { model: { ...bertLike(hf, 0), ...model }, ...(labels && { labels }) };
  },
  write: (model, from) => rewritten(model, from, bertClasses, bert),
  tensors(given) {
    const model = asEncoder(given);
    const { width, vocab, labels } = model;
    const heads: Record<HeadKind, () => TensorRule[]> = {
      classify: () => [
        ...denseRules("encoder/pooler", "bert.pooler.dense", [width, width]),
        ...denseRules("encoder/labels", "classifier", [labels, width]),
      ],
      tag: () => denseRules("encoder/labels", "classifier", [labels, width]),
      mlm: () => [
        ...denseRules("encoder/head", "cls.predictions.transform.dense", [width, width]),
        ...normRules("encoder/head/norm", "cls.predictions.transform.LayerNorm", width),
        ...(model.tie ? [] : [same("encoder/scores/weight", "cls.predictions.decoder.weight", [vocab, width])]),
        same("encoder/scores/bias", "cls.predictions.bias", [vocab]),
      ],
      embed: () => [],
    };
    return [...bodyRules(given, "bert.", 0), ...heads[model.task]()];
  },
  ignores: (name, model) => ignores("bert.", name) || headless(asEncoder(model).task, name, "bert.pooler.", "cls."),
  alsoCalled,
  keeps: keptPooler("bert."),
};

export const roberta: Family = {
  name: "RoBERTa",
  modelTypes: ["roberta"],
  architectures: Object.values(robertaClasses),
  prefix: "roberta.",
  classifier: { pool: "first", pooler: "tanh" },
  read(hf, architecture) {
    const kind = kindOf(robertaClasses, architecture);
    if (kind === "mlm") hf.must("hidden_act", "gelu"); // its head has GELU whatever the blocks have
    hf.must("pad_token_id", padding);
    const { model, labels } = headOf(hf, kind, { pool: "first", pooler: "tanh" });
    return { model: { ...bertLike(hf, padding + 1), ...model }, ...(labels && { labels }) };
  },
  write: (model, from) => rewritten(model, from, robertaClasses, roberta),
  tensors(given) {
    const model = asEncoder(given);
    const { width, vocab, labels } = model;
    const heads: Record<HeadKind, () => TensorRule[]> = {
      classify: () => [
        ...denseRules("encoder/pooler", "classifier.dense", [width, width]),
        ...denseRules("encoder/labels", "classifier.out_proj", [labels, width]),
      ],
      tag: () => denseRules("encoder/labels", "classifier", [labels, width]),
      mlm: () => [
        ...denseRules("encoder/head", "lm_head.dense", [width, width]),
        ...normRules("encoder/head/norm", "lm_head.layer_norm", width),
        ...(model.tie ? [] : [same("encoder/scores/weight", "lm_head.decoder.weight", [vocab, width])]),
        same("encoder/scores/bias", "lm_head.bias", [vocab]),
      ],
      embed: () => [],
    };
    return [...bodyRules(given, "roberta.", padding + 1), ...heads[model.task]()];
  },
  ignores: (name, model) => ignores("roberta.", name) || headless(asEncoder(model).task, name, "roberta.pooler.", "lm_head."),
  alsoCalled,
  keeps: keptPooler("roberta."),
};

/** RoBERTa counts positions from the one after that of padding. */
const padding = 1;

export function kindOf(classes: Readonly<Record<HeadKind, string>>, architecture: string): HeadKind {
  const kinds: readonly HeadKind[] = ["classify", "tag", "mlm", "embed"];
  return kinds.find((kind) => classes[kind] === architecture) ?? "embed";
}

function bertLike(hf: ConfigReader, offset: number) {
  hf.must("position_embedding_type", "absolute");
  hf.must("add_cross_attention", false);
  hf.must("is_decoder", false);
  hf.value("attention_probs_dropout_prob", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers");
  hf.value("pooler_size_per_head", "pooler_type", "directionality", "embedding_size"); // of the first release's files, and not used
  return {
    model: "encoder",
    layers: hf.whole("num_hidden_layers", 12),
    heads: hf.whole("num_attention_heads", 12),
    width: hf.whole("hidden_size", 768),
    hidden: hf.whole("intermediate_size", 3072),
    context: hf.whole("max_position_embeddings", 512) - offset,
    vocab: hf.whole("vocab_size", 30_522),
    dropout: hf.number("hidden_dropout_prob", 0.1),
    positions: "learned",
    segments: hf.whole("type_vocab_size", 2),
    embeddingNorm: true,
    norm: "layer",
    normPlace: "post",
    epsilon: hf.number("layer_norm_eps", 1e-12),
    activation: hf.choice("hidden_act", denseActivations, "gelu"),
  } as const;
}

/** All but the head. Files of a base model have no prefix. */
function bodyRules(model: Parameters<Family["tensors"]>[0], prefix: string, offset: number): TensorRule[] {
  const { vocab, context, segments, task } = asEncoder(model);
  const sizes = sizesOf(asEncoder(model));
  const { layers, width, hidden } = sizes;
  const root = task === "embed" ? "" : prefix;
  const positions = { name: `${root}embeddings.position_embeddings.weight`, shape: [context + offset, width] };
  const blocks = Array.from({ length: layers }, (_, i) => {
    const [ours, theirs] = [`encoder/block.${i}`, `${root}encoder.layer.${i}`];
    const parts = { q: "query", k: "key", v: "value" } as const;
    return [
      ...joinedHeads(`${ours}/attention/qkv`, sizes, (which) => `${theirs}.attention.self.${parts[which]}`, true),
      ...denseRules(`${ours}/attention/out`, `${theirs}.attention.output.dense`, [width, width]),
      ...normRules(`${ours}/norm1`, `${theirs}.attention.output.LayerNorm`, width),
      ...denseRules(`${ours}/feedforward/expand`, `${theirs}.intermediate.dense`, [hidden, width]),
      ...denseRules(`${ours}/feedforward/contract`, `${theirs}.output.dense`, [width, hidden]),
      ...normRules(`${ours}/norm2`, `${theirs}.output.LayerNorm`, width),
    ];
  });
  return [
    same("encoder/tokens", `${root}embeddings.word_embeddings.weight`, [vocab, width]),
    { ours: "encoder/positions/table", theirs: [offset === 0 ? positions : { ...positions, turn: rowsFrom(offset, context) }] },
    ...(segments > 0 ? [same("encoder/segments/table", `${root}embeddings.token_type_embeddings.weight`, [segments, width])] : []),
    ...normRules("encoder/embedding-norm", `${root}embeddings.LayerNorm`, width),
    ...blocks.flat(),
  ];
}

/** Buffers, and copies of the embeddings. */
const ignores = (prefix: string, name: string): boolean =>
  new RegExp(`^(${prefix})?embeddings\\.(position_ids|token_type_ids)$|^cls\\.predictions\\.decoder\\.|^lm_head\\.decoder\\.`).test(name);

/** Layers beside a head that is not theirs: a pooler under a tagger, the next sentence's score beside masked words. */
function headless(task: HeadKind, name: string, pooler: string, head: string): boolean {
  if (name.startsWith(pooler)) return task !== "classify" || head === "lm_head.";
  return name.startsWith("cls.seq_relationship.") || (task === "embed" && name.startsWith(head));
}

/** A model of vectors has a layer that they do not go through. */
function keptPooler(prefix: string): NonNullable<Family["keeps"]> {
  return (name, model) => {
    const bare = name.startsWith(prefix) ? name.slice(prefix.length) : name;
    return asEncoder(model).task === "embed" && /^pooler\.dense\.(weight|bias)$/.test(bare) ? bare : undefined;
  };
}

/** The first release called a norm's numbers gamma and beta; and a base model may have been saved with its prefix. */
function alsoCalled(name: string): string[] {
  const older = name.replace(/LayerNorm\.weight$/, "LayerNorm.gamma").replace(/LayerNorm\.bias$/, "LayerNorm.beta");
  const names = older === name ? [name] : [name, older];
  return [...names, ...names.flatMap((one) => (/^(embeddings|encoder)\./.test(one) ? [`bert.${one}`, `roberta.${one}`] : []))].slice(1);
}
