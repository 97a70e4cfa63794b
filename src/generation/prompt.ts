import { ConfigError, DataError } from "../base/errors.ts";
import { encodeSource, targetStart } from "../batches/encode.ts";
import { type ModelConfig, readsSource } from "../models/any.ts";
import type { ChatMessage } from "../text/examples.ts";
import { begun } from "../tokens/around.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { beginning, type FitOptions, fitted, teller, unknownIn, unknownSentence, type Warned } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { type ChatPrompt, chatPrompt } from "./chat.ts";
import type { Prompt } from "./speech.ts";

// What a model begins with: the tokens of a prompt, or a source and the token before a target.

export interface PromptOptions extends Warned {
  /** Refuse what does not fit into the context, rather than leave a part of it out. */
  readonly strict?: boolean;
}

type Reader = Pick<TrainedModel, "model" | "tokenizer"> & Partial<Pick<TrainedModel, "chat" | "name">> & Warned;

/** What a model is given: a text to go on with or to answer, the same as token ids, or a conversation. */
export type Given = string | Int32Array | readonly ChatMessage[];

/** A prompt, and the tokens that end what is written for it, beside those of the tokenizer. */
export type EndedPrompt = Prompt & Partial<Pick<ChatPrompt, "ends">>;

/** A caller without types may give ids as a plain list. */
const isConversation = (given: Given): given is readonly ChatMessage[] =>
  Array.isArray(given) && !given.some((one) => typeof one === "number");

/** From a text, from token ids, or from messages. */
export function promptOf(given: Given, reader: Reader, { strict, ...options }: PromptOptions = {}): EndedPrompt {
  const { model, tokenizer } = reader;
  const told = { strict, warn: teller(options, reader) };
  if (isConversation(given)) {
    const { ids, ends } = chatPrompt(given, reader);
    return { ...promptOfIds(ids, reader, told), ends };
  }
  if (typeof given !== "string" || given === "") return promptOfIds(given === "" ? new Int32Array(0) : (given as Int32Array), reader, told);
  const ids = readsSource(model) ? sourceOf(given, tokenizer) : begun(tokenizer.encode(given), tokenizer);
  if (ids.length === 0) throw new DataError(`the prompt ${JSON.stringify(given)} has no tokens in this vocabulary; write something else`);
  for (const sentence of unknownSentence(unknownIn(ids, tokenizer), "prompt")) told.warn(sentence);
  return promptOfIds(ids, reader, told);
}

function promptOfIds(ids: Int32Array, { model, tokenizer }: Reader, options: Pick<FitOptions, "strict" | "warn">): Prompt {
  const known = readsSource(model) ? ("sourceVocab" in model && model.sourceVocab) || model.vocab : model.vocab;
  const wrong = ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < known));
  if (wrong !== undefined) throw new ConfigError(`the token id ${wrong} is not in the vocabulary, which goes from 0 to ${known - 1}`);
  if (!readsSource(model)) {
    const first = ids.length > 0 ? ids : Int32Array.of(beginning(tokenizer));
    // What the next token follows is the end of a prompt.
    return { ids: fitted(first, longestPrompt(model), { what: "prompt", keep: "last", ...options }) };
  }
  if (ids.length === 0) throw nothingToTranslate();
  return {
    ids: Int32Array.from(targetStart(tokenizer)),
    source: fitted(ids, model.context, { what: "source", keep: "first", tokenizer, ...options }),
  };
}

/** An RNN language model takes any length. */
const longestPrompt = (model: ModelConfig): number =>
  model.model === "rnn" && model.task === "lm" ? Number.POSITIVE_INFINITY : model.context;

const nothingToTranslate = (): DataError => new DataError("there is nothing to translate in an empty text");

function sourceOf(text: string, tokenizer: Tokenizer): Int32Array {
  if (tokenizer.encode(text).length === 0) throw nothingToTranslate();
  return encodeSource(text, tokenizer);
}
