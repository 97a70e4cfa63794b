import { Turns } from "../base/turns.ts";
import { countUnknown, type ExampleIds, encoding } from "../batches/encode.ts";
import type { Layout } from "../batches/examples.ts";
import { answerOf } from "../text/examples.ts";
import type { ChatFormat } from "../tokens/chat-template.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { unknownSentence } from "../trained/reading.ts";
import { labellingOf, type Raw, type RawExamples, type RawText } from "./raw.ts";
import { type TokenisedText, tokenise } from "./tokenised.ts";

// Data as ids.

export interface EncodedText {
  readonly kind: "text";
  readonly train: TokenisedText;
  readonly valid?: TokenisedText;
}

/** Examples of one kind, with the layout in which they are batched. */
export interface EncodedExamples<E extends ExampleIds = ExampleIds> {
  readonly kind: "examples";
  readonly layout: Layout<E>;
  readonly train: readonly E[];
  readonly valid: readonly E[];
}

export type Encoded = EncodedText | EncodedExamples;

/** Label names in a fixed order: numbers by size, words by code point. */
export function labelsOf(raw: RawExamples): string[] | undefined {
  if (raw.task === "translate" || raw.task === "lm") return undefined;
  const names = new Set([...raw.train, ...raw.valid].flatMap(answerOf));
  const numeric = [...names].every((name) => /^-?\d{1,15}$/.test(name));
  return [...names].sort(numeric ? (a, b) => Number(a) - Number(b) : (a, b) => (a < b ? -1 : 1));
}

export interface EncodeOptions {
  readonly tokenizer: Tokenizer;
  readonly tokenizerHash: string;
  readonly labels?: readonly string[];
  /** How conversations are read. */
  readonly chat?: ChatFormat;
  /** The folder for tokenised text. */
  readonly cache: string;
  readonly signal?: AbortSignal;
}

export async function encodeRaw(raw: Raw, options: EncodeOptions): Promise<Encoded> {
  return raw.kind === "text" ? encodeText(raw, options) : encodeExamples(raw, options);
}

async function encodeText({ train, valid, sha256 }: RawText, options: EncodeOptions): Promise<EncodedText> {
  const { tokenizer, tokenizerHash, cache } = options;
  const turns = new Turns(options.signal);
  const ids = (parts: RawText["train"], name: string) => tokenise(parts, `${sha256} ${name}`, tokenizer, tokenizerHash, cache, turns);
  return { kind: "text", train: await ids(train, "train"), ...(valid.length > 0 ? { valid: await ids(valid, "valid") } : {}) };
}

async function encodeExamples(raw: RawExamples, { tokenizer, labels = [], chat, signal }: EncodeOptions): Promise<EncodedExamples> {
  const { encode, layout } = encoding(raw.task, tokenizer, labels, labellingOf(raw.train), chat);
  const turns = new Turns(signal);
  return { kind: "examples", layout, train: await turns.mapped(raw.train, encode), valid: await turns.mapped(raw.valid, encode) };
}

/** A sentence for each part in which tokens were unknown. */
export function unknownWarnings(encoded: Encoded, tokenizer: Tokenizer): string[] {
  const counts =
    encoded.kind === "text"
      ? { training: encoded.train.unknown, validation: encoded.valid?.unknown ?? 0 }
      : { training: countUnknown(encoded.train, tokenizer), validation: countUnknown(encoded.valid, tokenizer) };
  return Object.entries(counts).flatMap(([part, count]) => unknownSentence(count, `${part} data`));
}
