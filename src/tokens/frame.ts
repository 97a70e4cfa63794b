import { normalisationOf } from "./normaliser.ts";
import { patterns } from "./patterns.ts";
import { type TokenizerKind, tokenizerKinds } from "./tokenizer.ts";

// What tokenizer.json holds besides the vocabulary, for each kind that is trained here. A file with exactly one of these frames
// is recognised as that kind; every other file is "other". All keys that the `tokenizers` package would add are written out.

export interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special?: boolean;
  /** Found in the text as it was normalised, and not as it was given. */
  readonly normalized?: boolean;
  /** Takes the whitespace before it along, or after it. */
  readonly lstrip?: boolean;
  readonly rstrip?: boolean;
  /** Not found inside of words. */
  readonly single_word?: boolean;
}

/** The parts of a tokenizer.json, loosely: what is not listed is kept as it is. */
export interface TokenizerJson {
  readonly added_tokens: readonly AddedToken[];
  readonly normalizer: object | null;
  readonly pre_tokenizer: object | null;
  readonly post_processor: object | null;
  readonly decoder: object | null;
  readonly model: Readonly<Record<string, unknown>>;
}

export const specialsOf = (kind: TokenizerKind): readonly string[] =>
  kind === "char" || kind === "word" || kind === "wordpiece" ? ["<unk>", "<s>", "</s>"] : ["<s>", "</s>"];

const byteLevel = (use_regex: boolean) => ({ type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex });
const split = (Regex: string, behavior: string, invert: boolean) => ({ type: "Split", pattern: { Regex }, behavior, invert });
// Not ByteLevel's own regex: @huggingface/tokenizers reads \s there as JavaScript does, but in a Split as Unicode does.
const byteWords = { type: "Sequence", pretokenizers: [split(patterns.byteWords, "Isolated", false), byteLevel(false)] };

const bpeModel = (unk_token: string | null) => ({
  type: "BPE",
  dropout: null,
  unk_token,
  continuing_subword_prefix: null,
  end_of_word_suffix: null,
  fuse_unk: false,
  byte_fallback: false,
  ignore_merges: false,
});

/** Longer words are unknown to word and wordpiece, in every package. */
export const longestWord = 100;

const parts = {
  char: { pre_tokenizer: null, decoder: { type: "Fuse" }, model: bpeModel("<unk>") },
  byte: { pre_tokenizer: byteLevel(false), decoder: byteLevel(true), model: bpeModel(null) },
  word: {
    pre_tokenizer: split(patterns.words, "Removed", true),
    decoder: null,
    // The prefix, which no word has, makes @huggingface/tokenizers look for unk_token in this file and not in another one.
    model: { type: "WordLevel", unk_token: "<unk>", continuing_subword_prefix: " " },
  },
  bpe: { pre_tokenizer: byteWords, decoder: byteLevel(true), model: bpeModel(null) },
  wordpiece: {
    pre_tokenizer: split(patterns.bertWords, "Removed", true),
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: { type: "WordPiece", unk_token: "<unk>", continuing_subword_prefix: "##", max_input_chars_per_word: longestWord },
  },
  unigram: { pre_tokenizer: byteWords, decoder: byteLevel(true), model: { type: "Unigram", unk_id: null, byte_fallback: false } },
} as const;

/** A whole tokenizer.json of a kind, from its vocabulary. */
export function framed(kind: TokenizerKind, contents: Readonly<Record<string, unknown>>): TokenizerJson {
  const { pre_tokenizer, decoder, model } = parts[kind];
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  return {
    ...{ version: "1.0", truncation: null, padding: null },
    added_tokens: specialsOf(kind).map((content, id) => ({ id, content, ...flags })),
    ...{ normalizer: null, pre_tokenizer, post_processor: null, decoder },
    model: { ...model, ...contents },
  };
}

const sorted = (json: unknown): string =>
  JSON.stringify(json, (_, value) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );

function frameOf(json: TokenizerJson): string {
  const contents = new Set(["vocab", "merges"]);
  // The `tokenizers` package drops a prefix of whole words when it saves the file again.
  if (json.model.type === "WordLevel") contents.add("continuing_subword_prefix");
  return sorted({ ...json, model: Object.fromEntries(Object.entries(json.model).filter(([key]) => !contents.has(key))) });
}

const kindOfFrame = new Map(tokenizerKinds.map((kind) => [frameOf(framed(kind, {})), kind]));

/** How a text is read before that is no part of the kind. */
export const kindOf = (json: TokenizerJson): TokenizerKind | undefined =>
  normalisationOf(json.normalizer) && kindOfFrame.get(frameOf({ ...json, normalizer: null }));
