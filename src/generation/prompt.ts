import { ConfigError, DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { encodeSource } from "../batches/encode.ts";
import { type ModelConfig, readsSource } from "../models/any.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { Prompt } from "./speech.ts";

// What a model begins with: the tokens of a prompt, or a source and the token before a target.

export interface PromptOptions {
  /** Refuse what does not fit into the context, rather than leave a part of it out. */
  readonly strict?: boolean;
  readonly warn?: (sentence: string) => void;
}

/** Tokens that stand for nothing that could be written: what the vocabulary lacks, and the beginning of a text. */
export const unwritten = ({ unknown, start, end }: Tokenizer): ReadonlySet<number> =>
  new Set([unknown, start].filter((id) => id !== undefined && id !== end) as number[]);

export function promptOf(text: string, model: ModelConfig, tokenizer: Tokenizer, options: PromptOptions = {}): Prompt {
  if (text === "") return promptOfIds(new Int32Array(0), model, tokenizer, options);
  const ids = readsSource(model) ? sourceOf(text, tokenizer) : tokenizer.encode(text);
  if (ids.length === 0) throw new DataError(`the prompt ${JSON.stringify(text)} has no tokens in this vocabulary; write something else`);
  warnUnknown(ids, tokenizer, options);
  return promptOfIds(ids, model, tokenizer, options);
}

/** The same from token ids. */
export function promptOfIds(ids: Int32Array, model: ModelConfig, tokenizer: Tokenizer, options: PromptOptions = {}): Prompt {
  const known = readsSource(model) ? ("sourceVocab" in model && model.sourceVocab) || model.vocab : model.vocab;
  const wrong = ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < known));
  if (wrong !== undefined) throw new ConfigError(`the token id ${wrong} is not in the vocabulary, which goes from 0 to ${known - 1}`);
  if (!readsSource(model)) {
    const begun = ids.length > 0 ? ids : Int32Array.of(firstToken(tokenizer));
    return { ids: fitted(begun, model, "prompt", "last", options) };
  }
  if (ids.length === 0) throw nothingToTranslate();
  return { ids: Int32Array.of(tokenizer.start ?? 0), source: fitted(ids, model, "source", "first", options) };
}

const nothingToTranslate = (): DataError => new DataError("there is nothing to translate in an empty text");

function sourceOf(text: string, tokenizer: Tokenizer): Int32Array {
  if (tokenizer.encode(text).length === 0) throw nothingToTranslate();
  return encodeSource(text, tokenizer);
}

/** An empty prompt starts where a text could: after a new line, or where the vocabulary has none, after the end of the text before. */
function firstToken(tokenizer: Tokenizer): number {
  const line = tokenizer.kind === "char" || tokenizer.kind === "byte" ? tokenizer.encode("\n") : [];
  if (line.length === 1 && line[0] !== tokenizer.unknown) return line[0];
  const token = tokenizer.end ?? tokenizer.start;
  if (token === undefined) throw new DataError("this tokenizer has no token to begin an empty prompt with; write one");
  return token;
}

/** A prompt keeps its end, which is what the next token follows; a source its beginning. An RNN language model takes any length. */
function fitted(ids: Int32Array, model: ModelConfig, what: string, kept: "first" | "last", { strict, warn }: PromptOptions): Int32Array {
  const { context } = model;
  const over = ids.length - context;
  if (over <= 0 || (model.model === "rnn" && model.task === "lm")) return ids;
  const found = `the ${what} has ${ids.length.toLocaleString("en")} tokens, and the context ${context.toLocaleString("en")}`;
  if (strict)
    throw new DataError(
      sentence`${found}; shorten it, or leave out ${setting("strict")} to use its ${kept} ${context.toLocaleString("en")} tokens`,
      { code: "data.too-much" },
    );
  warn?.(`${found}: its ${kept === "last" ? "first" : "last"} ${over.toLocaleString("en")} tokens are dropped`);
  return kept === "last" ? ids.slice(over) : ids.slice(0, context);
}

function warnUnknown(ids: Int32Array, { unknown }: Tokenizer, { warn }: PromptOptions): void {
  const count = unknown === undefined ? 0 : ids.filter((id) => id === unknown).length;
  if (count > 0) warn?.(`${count.toLocaleString("en")} tokens of the prompt are not in the vocabulary and count as unknown`);
}
