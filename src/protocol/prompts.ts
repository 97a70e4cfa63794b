import { DataError } from "../base/errors.ts";
import { type EndedPrompt, promptOf } from "../generation/prompt.ts";
import { readsSource } from "../models/any.ts";
import type { ChatMessage } from "../text/examples.ts";
import { plainChat } from "../tokens/chat-template.ts";
import type { Warned } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { GivenPrompt } from "./messages.ts";

// What is asked, as a model reads it.

export interface PromptAsk extends Warned {
  readonly strict: boolean;
}

/** A prompt, and the strings that end what is written for it beside those that were asked for. */
export interface AskedPrompt {
  readonly prompt: EndedPrompt;
  readonly stop: readonly string[];
}

const isConversation = (given: GivenPrompt): given is readonly ChatMessage[] => typeof given !== "string" && typeof given[0] === "object";

/**
 * A conversation with a model that was not made for any is a plain text: `user: …`, a line for each message, and then `assistant:`. It ends
 * where the next speaker would begin. One that reads a source gets what was said, line by line.
 */
export function askedPrompt(given: GivenPrompt, trained: TrainedModel, { strict, warn }: PromptAsk): AskedPrompt {
  const options = { strict, ...(warn !== undefined && { warn }) };
  if (!isConversation(given)) {
    if (typeof given === "string") refuseEndless(given, trained, strict ? 1 : farTooLong);
    return { prompt: promptOf(typeof given === "string" ? given : Int32Array.from(given), trained, options), stop: [] };
  }
  const said = given.map(({ content }) => content).join("\n");
  refuseEndless(said, trained, strict ? 1 : farTooLong);
  if (trained.chat) return { prompt: promptOf(given, trained, options), stop: [] };
  const { model, tokenizer, name } = trained;
  if (readsSource(model)) return { prompt: promptOf(said, trained, options), stop: [] };
  const roles = [...new Set(["user", "system", ...given.map(({ role }) => role)])];
  return { prompt: promptOf(given, { model, tokenizer, name, chat: plainChat }, options), stop: roles.map((role) => `\n${role}:`) };
}

/** Texts that are cut to the context may be longer than it, but not by any amount: all of one is turned into tokens first. */
export const farTooLong = 4;

/** What a text without a bound may have: an RNN reads any length. */
const mostCharacters = 2 ** 20;

const longest = new WeakMap<object, number>();

/**
 * Refuses a text that no tokens could make fit, before it is turned into any: that takes a second for some megabytes, in which nobody else
 * is answered.
 */
export function refuseEndless(text: string, { model, tokenizer }: TrainedModel, contexts = farTooLong): void {
  let token = longest.get(tokenizer);
  if (token === undefined) {
    token = 1;
    for (let id = 0; id < tokenizer.size; id++) token = Math.max(token, tokenizer.piece(id).length);
    longest.set(tokenizer, token);
  }
  const most = model.model === "rnn" && model.task === "lm" ? mostCharacters : contexts * model.context * token;
  if (text.length > most)
    throw new DataError(
      `a text of ${number(text.length)} characters is longer than the context of ${number(model.context)} tokens can be; shorten it`,
      { code: "data.too-much" },
    );
}

const number = (value: number): string => value.toLocaleString("en");
