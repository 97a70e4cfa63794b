import { DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { countUnknown } from "../batches/encode.ts";
import { type HubRecord, neverWritten } from "../hub/record.ts";
import { cutAround } from "../tokens/around.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";

// Text as a model reads it: what stands between and before texts, how much of one fits into the context, and what is said of the rest.
// Training, generation, evaluation and inspection all ask here.

/**
 * What separates two documents. With a tokenizer of characters or bytes, a newline, or a space where the vocabulary has no newline; with
 * others, the end-of-text token.
 */
export function separator(tokenizer: Tokenizer): number | undefined {
  if (tokenizer.kind !== "char" && tokenizer.kind !== "byte") return tokenizer.end;
  return [...tokenizer.encode("\n"), ...tokenizer.encode(" ")].find((id) => id !== tokenizer.unknown);
}

/** What the first token of a scored text follows: what the model met between documents. */
export const beforeText = (tokenizer: Tokenizer): number => tokenizer.frame?.before.at(-1) ?? separator(tokenizer) ?? 0;

/** What an empty prompt begins with: the same, where there is such a token. */
export function beginning(tokenizer: Tokenizer): number {
  const id =
    tokenizer.frame?.before.at(-1) ?? separator(tokenizer) ?? (tokenizer.kind === "other" ? tokenizer.start : beforeText(tokenizer));
  if (id === undefined) throw new DataError("this tokenizer has no token to begin an empty prompt with; write one");
  return id;
}

/**
 * Tokens that stand for nothing that could be written: what the vocabulary lacks, and the beginning of a text. A model from outside may
 * write whatever its tokenizer has and its files do not forbid; rows of its table beyond that are nobody's.
 */
export function unwritten({ tokenizer, model, hub }: Writer): ReadonlySet<number> {
  const { unknown, start, end, size } = tokenizer;
  if (hub)
    return new Set([
      ...Array.from({ length: Math.max(0, model.vocab - size) }, (_, i) => size + i),
      ...neverWritten(hub).filter((id) => id < model.vocab),
    ]);
  return new Set([unknown, start].filter((id) => id !== undefined && id !== end) as number[]);
}

type Writer = { readonly tokenizer: Tokenizer; readonly model: { readonly vocab: number }; readonly hub?: HubRecord };

/** A readable name of a token. A table may have more rows than the tokenizer has ids; such a token has no name but its number. */
export const shownPiece = (tokenizer: Tokenizer, id: number): string => (id < tokenizer.size ? tokenizer.piece(id) : `<${id}>`);

export type Warn = (sentence: string) => void;

/** Whom to tell: a function of the caller's, or nobody. If left out, whom the model tells. */
export interface Warned {
  readonly warn?: Warn | false;
}

/** Who is told, in the end. */
export const teller = ({ warn }: Warned, trained: Warned): Warn => {
  const chosen = warn ?? trained.warn;
  return chosen ? chosen : () => {};
};

export interface FitOptions {
  /** What the text is called: "prompt", "source". */
  readonly what: string;
  /** The part that is read of a text that is too long. */
  readonly keep: "first" | "last";
  /** Refuse what does not fit, rather than leave a part of it out. */
  readonly strict?: boolean;
  readonly warn?: Warn;
  /** Of a text that its tokenizer wants something after: it stands there however much is left out. */
  readonly tokenizer?: Pick<Tokenizer, "frame">;
}

/** One text, no longer than the context. */
export function fitted(ids: Int32Array, context: number, { what, keep, strict, warn, tokenizer = {} }: FitOptions): Int32Array {
  const over = ids.length - context;
  if (over <= 0) return ids;
  const number = (value: number) => value.toLocaleString("en");
  const found = `the ${what} has ${number(ids.length)} tokens, and the context ${number(context)}`;
  if (strict)
    throw new DataError(sentence`${found}; shorten it, or leave out ${setting("strict")} to use its ${keep} ${number(context)} tokens`, {
      code: "data.too-much",
    });
  warn?.(`${found}: its ${keep === "last" ? "first" : "last"} ${number(over)} tokens are dropped`);
  return keep === "last" ? ids.slice(over) : cutAround(ids, context, tokenizer);
}

/** What is said of many texts that were cut to the context, each by itself. */
export const cutSentence = (count: number, all: number, what: string, context: number): string[] =>
  count > 0 ? [`${count} of ${all} ${what} are longer than the context of ${context} tokens and are cut`] : [];

const tokens = (count: number): string => (count === 1 ? "1 token" : `${count.toLocaleString("en")} tokens`);

/** What is said of tokens that the vocabulary does not have. */
export const unknownSentence = (count: number, of?: string): string[] =>
  count > 0
    ? [
        `${tokens(count)}${of === undefined ? "" : ` of the ${of}`} ${count === 1 ? "is not in the vocabulary and counts" : "are not in the vocabulary and count"} as unknown`,
      ]
    : [];

export const unknownIn = (ids: Int32Array, tokenizer: Tokenizer): number => countUnknown([{ ids }], tokenizer);
