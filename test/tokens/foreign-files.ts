import { byteLetters } from "../../src/tokens/bytes.ts";

// Small files of the sorts that are met in the wild.

const ids = (...tokens: string[]): Record<string, number> => Object.fromEntries(tokens.map((token, id) => [token, id]));
const added = (id: number, content: string) => ({
  ...{ id, content, single_word: false, lstrip: false, rstrip: false },
  ...{ normalized: false, special: true },
});
const hexBytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
const rest = { version: "1.0", truncation: null, padding: null, normalizer: null, post_processor: null };
const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true };

export const foreignFiles = {
  /** As the first files of GPT-2, which do not say the type of the model, with merges as strings. */
  gpt2: {
    ...rest,
    added_tokens: [added(260, "<|endoftext|>")],
    pre_tokenizer: byteLevel,
    post_processor: byteLevel,
    decoder: byteLevel,
    model: {
      ...{ dropout: null, unk_token: "", continuing_subword_prefix: "", end_of_word_suffix: "", fuse_unk: false },
      vocab: ids(...byteLetters, "Ġt", "he", "Ġthe", "at"),
      merges: ["Ġ t", "h e", "Ġt he", "a t"],
    },
  },
  words: {
    ...rest,
    added_tokens: [added(0, "[UNK]")],
    pre_tokenizer: { type: "Whitespace" },
    decoder: null,
    model: { type: "WordLevel", vocab: ids("[UNK]", "the", "café", "cat", ",", "12"), unk_token: "[UNK]" },
  },
  bert: {
    ...rest,
    added_tokens: [added(0, "[UNK]"), added(1, "[CLS]"), added(2, "[SEP]")],
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [
        { SpecialToken: { id: "[CLS]", type_id: 0 } },
        { Sequence: { id: "A", type_id: 0 } },
        { SpecialToken: { id: "[SEP]", type_id: 0 } },
      ],
      pair: [],
      special_tokens: { "[CLS]": { id: "[CLS]", ids: [1], tokens: ["[CLS]"] }, "[SEP]": { id: "[SEP]", ids: [2], tokens: ["[SEP]"] } },
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      ...{ type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100 },
      vocab: ids("[UNK]", "[CLS]", "[SEP]", "the", "c", "##at", "##afe", "##s", ",", "."),
    },
  },
  t5: {
    ...rest,
    added_tokens: [added(0, "<pad>"), added(1, "</s>"), added(2, "<unk>")],
    pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
    decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
    model: {
      ...{ type: "Unigram", unk_id: 2, byte_fallback: false },
      vocab: [
        ["<pad>", 0],
        ["</s>", 0],
        ["<unk>", 0],
        ["▁", -2],
        ["▁the", -3],
        ["▁c", -4],
        ["at", -4],
        ["a", -5],
        ["t", -5.5],
        ["s", -6],
      ],
    },
  },
  /** Spaces as letters, a letter before the text, no words, and bytes for what is unknown. */
  llama: {
    ...rest,
    added_tokens: [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")],
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "Prepend", prepend: "▁" },
        { type: "Replace", pattern: { String: " " }, content: "▁" },
      ],
    },
    pre_tokenizer: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
    model: {
      ...{ type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: null, end_of_word_suffix: null },
      ...{ fuse_unk: true, byte_fallback: true, ignore_merges: false },
      vocab: ids("<unk>", "<s>", "</s>", ...hexBytes, ..."▁theca", "▁t", "he", "▁the", "at"),
      merges: ["▁ t", "h e", "▁t he", "a t"],
    },
  },
} as const;
