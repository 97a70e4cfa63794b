import { describe, expect, it } from "vitest";
import { recognised } from "../../src/hub/families.ts";

// The words of well-known folders, as releases of six years wrote them; and words that would change what is computed.

const bert = {
  model_type: "bert",
  hidden_act: "gelu",
  position_embedding_type: "absolute",
  type_vocab_size: 2,
  gradient_checkpointing: false,
};
const bart = {
  ...{ model_type: "bart", is_encoder_decoder: true, d_model: 768, encoder_layers: 6, decoder_layers: 6, encoder_attention_heads: 12 },
  ...{ decoder_attention_heads: 12, encoder_ffn_dim: 3072, decoder_ffn_dim: 3072, normalize_before: false, normalize_embedding: true },
  ...{ add_final_layer_norm: false, add_bias_logits: false, classif_dropout: 0.1, num_hidden_layers: 6, forced_bos_token_id: 0 },
  ...{ early_stopping: true, no_repeat_ngram_size: 3, num_beams: 4, vocab_size: 50_265, scale_embedding: false },
};
const marian = { ...bart, model_type: "marian", normalize_embedding: false, static_position_embeddings: true, bad_words_ids: [[58_100]] };

const known = {
  "bert-base-uncased": [
    { ...bert, architectures: ["BertForMaskedLM"] },
    { task: "mlm", segments: 2, context: 512, epsilon: 1e-12 },
  ],
  "a cross-encoder": [
    { ...bert, architectures: ["BertForSequenceClassification"], id2label: { "0": "LABEL_0" } },
    { task: "classify", labels: 1, labelling: "several" },
  ],
  "distilbert-…-sst-2": [
    {
      ...{ model_type: "distilbert", architectures: ["DistilBertForSequenceClassification"], tie_weights_: true, output_past: true },
      ...{ finetuning_task: "sst-2", id2label: { "0": "NEGATIVE", "1": "POSITIVE" }, sinusoidal_pos_embds: false, qa_dropout: 0.1 },
    },
    { task: "classify", labels: 2, pooler: "relu" },
  ],
  "roberta-base": [
    { model_type: "roberta", architectures: ["RobertaForMaskedLM"], max_position_embeddings: 514, type_vocab_size: 1, pad_token_id: 1 },
    { task: "mlm", context: 512, segments: 1 },
  ],
  "t5-small": [
    { model_type: "t5", architectures: ["T5WithLMHeadModel"], n_positions: 512, task_specific_params: { summarization: {} } },
    { tie: true, scoresScale: 512 ** -0.5, activation: "relu", score: "dot" },
  ],
  "flan-t5-small": [
    { model_type: "t5", feed_forward_proj: "gated-gelu", tie_word_embeddings: false, num_heads: 6, num_layers: 8, num_decoder_layers: 8 },
    { tie: false, activation: "geglu-tanh", keySize: 64 },
  ],
  "bart-base": [
    { ...bart, architectures: ["BartModel"] },
    { embeddingNorm: true, scoresBias: false, context: 1024 },
  ],
  "bart-large-cnn": [
    { ...bart, force_bos_token_to_be_generated: true, extra_pos_embeddings: 2, save_step: 58, static_position_embeddings: false },
    { embeddingNorm: true, scoresBias: true },
  ],
  "opus-mt": [
    { ...marian, activation_function: "swish", scale_embedding: true },
    { activation: "silu", embeddingScale: Math.sqrt(768) },
  ],
} as const;

describe("configs", () => {
  it.each(Object.entries(known))("of %s are understood", (_, [config, model]) => {
    expect(recognised(config, "config.json").model).toMatchObject(model);
  });

  const refused = {
    'position_embedding_type is "relative_key"': { ...bert, position_embedding_type: "relative_key" },
    "is_decoder is true": { ...bert, is_decoder: true },
    'hidden_act is "mish"': { ...bert, hidden_act: "mish" },
    "normalize_before is true": { ...bart, normalize_before: true },
    "share_encoder_decoder_embeddings is false": { ...marian, share_encoder_decoder_embeddings: false },
    'problem_type is "regression"': { ...bert, architectures: ["BertForSequenceClassification"], problem_type: "regression" },
    "id2label is not a list": { ...bert, architectures: ["BertForTokenClassification"], id2label: { "0": "O", "2": "B" } },
    BertForQuestionAnswering: { ...bert, architectures: ["BertForQuestionAnswering"] },
    "conv_kernel_size: 9 is not known": { ...bert, conv_kernel_size: 9 },
  };
  it.each(Object.entries(refused))("are refused for what would be computed otherwise: %s", (sentence, config) => {
    expect(() => recognised(config, "config.json")).toThrow(sentence);
  });
});
