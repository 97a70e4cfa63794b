import type { ToldToken, WriteAsk } from "../protocol/messages.ts";
import type { ChatMessage } from "../text/examples.ts";
import { type Call, modelOf, type Reply } from "./call.ts";
import { HttpError } from "./errors.ts";
import type { ChatRequest } from "./requests.ts";
import { sharedAsk } from "./sampling-fields.ts";
import { type Spelling, writeStream, writeWhole } from "./written.ts";

/** POST /v1/chat/completions */
export function chat(call: Call, body: ChatRequest): Promise<Reply> {
  const model = modelOf(call, body.model);
  const { max_tokens, max_completion_tokens, logprobs, top_logprobs, response_format } = body;
  if (max_tokens != null && max_completion_tokens != null && max_tokens !== max_completion_tokens)
    throw new HttpError(400, "max_tokens and max_completion_tokens are two names of one thing; give one of them", {
      code: "config.conflict",
      param: "max_tokens",
    });
  if (top_logprobs != null && logprobs !== true)
    throw new HttpError(400, "top_logprobs is told beside log-probabilities; set logprobs to true", {
      code: "config.conflict",
      param: "top_logprobs",
    });
  const tokens = max_completion_tokens ?? max_tokens ?? undefined;
  const form =
    response_format?.type === "json_object"
      ? ({ json: true } as const)
      : response_format?.type === "json_schema"
        ? { schema: response_format.json_schema.schema }
        : undefined;
  const ask: WriteAsk = {
    kind: "write",
    prompts: [messagesOf(body)],
    ...sharedAsk(body, call.seed),
    ...(tokens !== undefined && { tokens }),
    ...(logprobs === true && { top: top_logprobs ?? 0 }),
    ...(form && { form }),
  };
  const spelling = chatSpelling(call, model, ask);
  if (!body.stream) return writeWhole(call, model, ask, spelling);
  return writeStream(call, model, ask, spelling, body.stream_options?.include_usage === true);
}

/** Messages as templates know them: parts of a content are one text, and a developer is the system. */
export const messagesOf = ({ messages }: Pick<ChatRequest, "messages">): ChatMessage[] =>
  messages.map(({ role, content, name }) => ({
    role: role === "developer" ? "system" : role,
    content: typeof content === "string" ? content : content.map(({ text }) => text).join("\n"),
    ...(name != null && { name }),
  }));

function chatSpelling(call: Call, model: string, { top }: WriteAsk): Spelling {
  const head = { id: `chatcmpl-${call.id}`, created: call.now(), model, system_fingerprint: call.fingerprint };
  const logprobsOf = (tokens: readonly ToldToken[]) =>
    top === undefined ? null : { content: tokens.map((one) => ({ ...spelled(one), top_logprobs: one.top.map(spelled) })), refusal: null };
  return {
    head: { ...head, object: "chat.completion" },
    chunkHead: { ...head, object: "chat.completion.chunk" },
    whole: (choices) => ({
      choices: choices.map(({ index, text, tokens, finish }) => ({
        index,
        message: { role: "assistant", content: text, refusal: null },
        logprobs: logprobsOf(tokens),
        finish_reason: finish,
      })),
    }),
    first: (index) => ({ choices: [{ index, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null }] }),
    piece: ({ index, text, tokens, finish }) => ({
      choices: [{ index, delta: text === "" ? {} : { content: text }, logprobs: logprobsOf(tokens), finish_reason: finish }],
    }),
  };
}

const spelled = ({ text, logProbability, bytes }: Omit<ToldToken, "top">) => ({ token: text, logprob: logProbability, bytes });
