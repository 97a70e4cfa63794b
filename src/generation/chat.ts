import { ConfigError } from "../base/errors.ts";
import { call, sentence } from "../base/sentence.ts";
import type { ChatMessage } from "../text/examples.ts";
import { type ChatFormat, renderChat } from "../tokens/chat-template.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { TrainedModel } from "../trained/trained.ts";

// A conversation as a prompt: rendered up to where the answer begins, and what ends the answer.

export interface ChatPrompt {
  readonly ids: Int32Array;
  /** The token that the template puts behind an answer. */
  readonly ends: readonly number[];
}

type Reader = Pick<TrainedModel, "tokenizer"> & Partial<Pick<TrainedModel, "chat" | "name">>;

export function chatPrompt(messages: readonly ChatMessage[], { tokenizer, chat, name = "this model" }: Reader): ChatPrompt {
  if (!chat)
    throw new ConfigError(
      sentence`${name} has no chat template, so it does not know how to read messages; give a prompt, or train it on conversations: ${call("train", "chat.jsonl", { from: name })}`,
      { code: "config.task" },
    );
  const wrong = messages.find((message) => typeof message?.role !== "string" || typeof message.content !== "string");
  if (messages.length === 0 || wrong !== undefined)
    throw new ConfigError("a conversation is a list of messages { role, content }, at least one", { code: "config.type" });
  return { ids: tokenizer.encode(renderChat(chat, messages, { ask: true })), ends: turnEnd(chat, messages, tokenizer) };
}

const probe = "answer";

/** The first special token after an answer, with nothing before it but white space. */
function turnEnd(chat: ChatFormat, messages: readonly ChatMessage[], tokenizer: Tokenizer): number[] {
  const whole = renderChat(chat, [...messages, { role: "assistant", content: probe }]);
  const after = tokenizer.encode(whole.slice(whole.lastIndexOf(probe) + probe.length));
  const found = after.find((id) => tokenizer.decode([id]).trim() !== "" || tokenizer.piece(id).trim() !== "");
  return found !== undefined && tokenizer.decode([found]) === "" ? [found] : [];
}
