import { readFileSync } from "node:fs";

// Whole files around the small models that test/fixtures/tokenizers/make.py has trained, in the structure that the files of each family have.

const read = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(`../fixtures/tokenizers/${name}.json`, import.meta.url), "utf8"));
const charsmap: unknown = read("charsmap");
const sizeOf = ({ vocab }: Record<string, unknown>): number => Object.keys(vocab as object).length;

type Flags = { special?: boolean; normalized?: boolean; lstrip?: boolean; rstrip?: boolean; single_word?: boolean };
const added = (id: number, content: string, flags: Flags = {}) => ({
  ...{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
  ...flags,
});
const rest = { version: "1.0", truncation: null, padding: null, normalizer: null, post_processor: null };
const sequence = (list: string, ...parts: object[]) => ({ type: "Sequence", [list]: parts });
const byteLevel = (add_prefix_space: boolean, use_regex = true) => ({ type: "ByteLevel", add_prefix_space, trim_offsets: true, use_regex });
const split = (Regex: string) => ({ type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false });
const replace = (wanted: string, content: string) => ({ type: "Replace", pattern: { String: wanted }, content });

const bytes = read("bytes");
const n = sizeOf(bytes);
const newer = (number: string): string =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${number}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const byteFile = (pre_tokenizer: object, more: object = {}) => ({
  ...rest,
  added_tokens: [added(n, "<|endoftext|>")],
  pre_tokenizer,
  decoder: byteLevel(true),
  model: bytes,
  ...more,
});

const marks = read("marks");
const markDecoder = (strip: boolean) =>
  sequence(
    "decoders",
    replace("▁", " "),
    { type: "ByteFallback" },
    { type: "Fuse" },
    ...(strip ? [{ type: "Strip", content: " ", start: 1, stop: 0 }] : []),
  );
const markFile = (more: object) => ({
  ...rest,
  added_tokens: [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")],
  pre_tokenizer: null,
  decoder: markDecoder(true),
  model: marks,
  ...more,
});

const metaspace = (more: object = { prepend_scheme: "always", split: true }) => ({ type: "Metaspace", replacement: "▁", ...more });
const precompiled = { type: "Precompiled", precompiled_charsmap: charsmap };
const scores = read("scores");
const scoreFile = (more: object) => ({
  ...rest,
  added_tokens: [added(0, "<pad>"), added(1, "</s>"), added(2, "<unk>"), added(600, "<extra_id_0>")],
  normalizer: precompiled,
  pre_tokenizer: metaspace(),
  decoder: metaspace(),
  model: scores,
  ...more,
});

const bert = { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true };
const pieceFile = (more: object) => ({
  ...rest,
  added_tokens: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map((content, id) => added(id, content)),
  normalizer: bert,
  pre_tokenizer: { type: "BertPreTokenizer" },
  decoder: { type: "WordPiece", prefix: "##", cleanup: true },
  model: read("pieces"),
  ...more,
});

const asStrings = { ...bytes, merges: (bytes.merges as string[][]).map((pair) => pair.join(" ")) };

export const kinds: Readonly<Record<string, object>> = {
  gpt2: byteFile(byteLevel(false), { model: asStrings }),
  llama3: byteFile(sequence("pretokenizers", split(newer("\\p{N}{1,3}")), byteLevel(false, false)), {
    model: { ...bytes, ignore_merges: true },
  }),
  qwen: byteFile(sequence("pretokenizers", split(newer("\\p{N}")), byteLevel(false, false)), {
    normalizer: { type: "NFC" },
    added_tokens: [
      ...["<|endoftext|>", "<|im_start|>", "<|im_end|>"].map((content, i) => added(n + i, content)),
      added(n + 3, "<tool_call>", { special: false }),
    ],
  }),
  smollm: byteFile(sequence("pretokenizers", { type: "Digits", individual_digits: true }, byteLevel(false))),
  roberta: byteFile(byteLevel(true), {
    added_tokens: [added(n, "<s>"), added(n + 1, "</s>"), added(n + 2, "<mask>", { lstrip: true })],
  }),
  pythia: byteFile(byteLevel(false), {
    normalizer: { type: "NFC" },
    added_tokens: [
      added(n, "<|endoftext|>"),
      ...[2, 3, 4, 8].map((spaces, i) => added(n + 1 + i, " ".repeat(spaces), { special: false, normalized: true })),
    ],
  }),
  deepseek: byteFile(
    sequence(
      "pretokenizers",
      split("\\p{N}{1,3}"),
      split("[一-龥぀-ゟ゠-ヿ]+"),
      split(
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      ),
      byteLevel(false, false),
    ),
  ),
  possessive: byteFile(
    sequence(
      "pretokenizers",
      split(
        "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s*[\\r\\n]|\\s+(?!\\S)|\\s++",
      ),
      byteLevel(false, false),
    ),
  ),
  flags: byteFile(byteLevel(false), {
    normalizer: { type: "Lowercase" },
    added_tokens: [
      added(n, "<s>", { rstrip: true }),
      added(n + 1, "</s>", { lstrip: true, rstrip: true }),
      added(n + 2, "word", { single_word: true, special: false }),
      added(n + 3, "Ishmael", { normalized: true, special: false }),
      added(n + 4, "there", { normalized: true, special: false, single_word: true, lstrip: true }),
    ],
  }),
  llama2: markFile({ normalizer: sequence("normalizers", { type: "Prepend", prepend: "▁" }, replace(" ", "▁")) }),
  mistral: markFile({ pre_tokenizer: metaspace({ prepend_scheme: "first", split: false }) }),
  gemma: markFile({
    normalizer: replace(" ", "▁"),
    pre_tokenizer: { type: "Split", pattern: { String: " " }, behavior: "MergedWithPrevious", invert: false },
    decoder: markDecoder(false),
    added_tokens: [
      ...["<unk>", "<s>", "</s>"].map((content, id) => added(id, content)),
      ...["\n\n", "\n\n\n", "▁▁", "▁▁▁", "<start_of_turn>"].map((content, i) => added(sizeOf(marks) + i, content, { special: false })),
    ],
  }),
  unknowns: markFile({
    normalizer: replace(" ", "▁"),
    model: { ...marks, byte_fallback: false },
    decoder: markDecoder(false),
  }),
  t5: scoreFile({}),
  flanT5: scoreFile({
    normalizer: sequence(
      "normalizers",
      precompiled,
      { type: "Strip", strip_left: false, strip_right: true },
      {
        type: "Replace",
        pattern: { Regex: " {2,}" },
        content: "▁",
      },
    ),
  }),
  xlmr: scoreFile({ pre_tokenizer: sequence("pretokenizers", { type: "WhitespaceSplit" }, metaspace({ add_prefix_space: true })) }),
  albert: scoreFile({
    normalizer: sequence(
      "normalizers",
      ...[replace("``", '"'), replace("''", '"'), { type: "NFKD" }, { type: "StripAccents" }, { type: "Lowercase" }, precompiled],
    ),
  }),
  scoresFirst: scoreFile({ pre_tokenizer: metaspace({ prepend_scheme: "first", split: true }) }),
  bertUncased: pieceFile({}),
  bertCased: pieceFile({ normalizer: { ...bert, lowercase: false } }),
  bertAccents: pieceFile({ normalizer: { ...bert, strip_accents: false, handle_chinese_chars: false } }),
  punctuation: pieceFile({
    normalizer: null,
    pre_tokenizer: sequence(
      "pretokenizers",
      { type: "Whitespace" },
      { type: "Punctuation", behavior: "MergedWithPrevious" },
      {
        type: "Digits",
        individual_digits: false,
      },
    ),
  }),
};
