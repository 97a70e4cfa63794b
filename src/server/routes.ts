import type * as z from "zod";
import { classify, detokenize, embed, fill, look, tag, tokenize, translate } from "./answers.ts";
import type { Refused } from "./body.ts";
import type { Call, Reply } from "./call.ts";
import { chat } from "./chat.ts";
import { complete } from "./completions.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

// Every question that a model answers, with what it takes and gives: the server and its reference are made of this list.

/** A type of answer, and its shape where it is JSON. */
export interface AnswerType {
  readonly type: "application/json" | "text/event-stream" | "image/svg+xml" | "text/plain" | "text/html";
  readonly schema?: z.ZodType;
}

export interface Route {
  readonly path: string;
  readonly summary: string;
  readonly body: z.ZodType;
  readonly refused?: Refused;
  readonly answers: readonly AnswerType[];
  /** The body has the shape that is wanted. */
  handle(call: Call, body: never): Promise<Reply>;
}

const ofJson = (schema: z.ZodType): AnswerType => ({ type: "application/json", schema });
const ofEvents = (schema: z.ZodType): AnswerType => ({ type: "text/event-stream", schema });

export const routes: readonly Route[] = [
  {
    path: "/v1/completions",
    summary: "Goes on with a text, or answers a source.",
    body: requests.completionRequest,
    refused: requests.refusedCompletion,
    answers: [ofJson(responses.completionResponse), ofEvents(responses.completionResponse)],
    handle: complete,
  },
  {
    path: "/v1/chat/completions",
    summary: "Answers a conversation, by the chat template of the model or as a plain text.",
    body: requests.chatRequest,
    refused: requests.refusedChat,
    answers: [ofJson(responses.chatResponse), ofEvents(responses.chatChunk)],
    handle: chat,
  },
  {
    path: "/v1/embeddings",
    summary: "The vectors of texts, from an encoder.",
    body: requests.embeddingRequest,
    answers: [ofJson(responses.embeddingResponse)],
    handle: embed,
  },
  {
    path: "/v1/classify",
    summary: "The label of each text, and how sure the model is.",
    body: requests.classifyRequest,
    answers: [ofJson(responses.classifyResponse)],
    handle: classify,
  },
  {
    path: "/v1/tag",
    summary: "A tag for each word of each text (or each character, as the model was trained).",
    body: requests.tagRequest,
    answers: [ofJson(responses.tagResponse)],
    handle: tag,
  },
  {
    path: "/v1/fill",
    summary: "The likeliest words where a text has a mask.",
    body: requests.fillRequest,
    answers: [ofJson(responses.fillResponse)],
    handle: fill,
  },
  {
    path: "/v1/translate",
    summary: "The target of each source text.",
    body: requests.translateRequest,
    answers: [ofJson(responses.translateResponse)],
    handle: translate,
  },
  {
    path: "/v1/look",
    summary: "Looks inside a model: where its attention goes for a text, what may come next, what each layer would answer.",
    body: requests.lookRequest,
    answers: [ofJson(responses.lookResponse), { type: "image/svg+xml" }],
    handle: look,
  },
  {
    path: "/tokenize",
    summary: "The tokens of a text, or of a conversation as the model reads it.",
    body: requests.tokenizeRequest,
    answers: [ofJson(responses.tokenizeResponse)],
    handle: tokenize,
  },
  {
    path: "/detokenize",
    summary: "The text of tokens.",
    body: requests.detokenizeRequest,
    answers: [ofJson(responses.detokenizeResponse)],
    handle: detokenize,
  },
];
