export const tokenizerKinds = ["char", "byte", "word", "bpe", "wordpiece", "unigram"] as const;
export type TokenizerKind = (typeof tokenizerKinds)[number];

export interface TextFrame {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** Text to token ids and back. Its `json` is a Hugging Face tokenizer.json, the only thing that is ever saved. */
export interface Tokenizer {
  /** "other" is a tokenizer.json that was not trained here. */
  readonly kind: TokenizerKind | "other";
  /** How many rows an embedding needs: the largest id + 1. */
  readonly size: number;
  /** The content of tokenizer.json. */
  readonly json: object;
  /** The id that stands for what the vocabulary does not have. */
  readonly unknown?: number;
  /** The id before a text, `<s>` or what the file has in its place. */
  readonly start?: number;
  /** The id after a text, `</s>` or what the file has in its place. */
  readonly end?: number;
  /** All the ids that end a text, `end` first, where there are several. */
  readonly ends?: readonly number[];
  /** The id that fills up short texts, where the file or what stands beside it says one. */
  readonly pad?: number;
  /** The ids that the file wants before and after a single text; `encode` adds none of them. */
  readonly frame?: TextFrame;
  /** Why texts are read slowly; left out where they are read by our own encoder. */
  readonly slow?: string;
  /** The text that is read in the place of a text (in lower case, say); where there is none, texts are read as they are. */
  readonly normalised?: (text: string) => string;
  /** The ids of a text, with nothing added. Special tokens written in the text are matched. */
  encode(text: string): Int32Array;
  /** The text of ids; special tokens are skipped. */
  decode(ids: Iterable<number>): string;
  /** A readable name of one token. Bytes that are not whole characters read like `\xE4`. */
  piece(id: number): string;
}

/** A sentence about a tokenizer that is read slowly; none about any other. */
export const slowSentence = ({ slow }: Pick<Tokenizer, "slow">): string[] =>
  slow === undefined ? [] : [`this tokenizer is read by @huggingface/tokenizers, which is slow, and not by our own encoder: ${slow}`];
