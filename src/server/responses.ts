import * as z from "zod";

// What is answered: the shapes of OpenAI's API, and our own.

const usage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() });
const finishReason = z.enum(["stop", "length"]);
const head = { id: z.string(), created: z.int(), model: z.string(), system_fingerprint: z.string() };
/** What is noteworthy: parts of a text that were left out, tokens that the vocabulary lacks. */
const warnings = z.array(z.string()).optional();

const completionLogprobs = z.object({
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.number().nullable()),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
  text_offset: z.array(z.int()),
});

const completionChoice = z.object({
  index: z.int(),
  text: z.string(),
  logprobs: completionLogprobs.nullable(),
  finish_reason: finishReason.nullable(),
});

export const completionResponse = z.object({
  ...head,
  object: z.literal("text_completion"),
  choices: z.array(completionChoice),
  usage: usage.nullish(),
  warnings,
});

const token = z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()).nullable() });
const chatLogprobs = z.object({ content: z.array(token.extend({ top_logprobs: z.array(token) })), refusal: z.null() });

export const chatResponse = z.object({
  ...head,
  object: z.literal("chat.completion"),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({ role: z.literal("assistant"), content: z.string(), refusal: z.null() }),
      logprobs: chatLogprobs.nullable(),
      finish_reason: finishReason,
    }),
  ),
  usage,
  warnings,
});

export const chatChunk = z.object({
  ...head,
  object: z.literal("chat.completion.chunk"),
  choices: z.array(
    z.object({
      index: z.int(),
      delta: z.object({ role: z.literal("assistant").optional(), content: z.string().optional() }),
      logprobs: chatLogprobs.nullish(),
      finish_reason: finishReason.nullable(),
    }),
  ),
  usage: usage.nullish(),
  warnings,
});

export const embeddingResponse = z.object({
  object: z.literal("list"),
  model: z.string(),
  data: z.array(
    z.object({
      object: z.literal("embedding"),
      index: z.int(),
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
  warnings,
});

const modelEntry = z.object({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.literal("qkv"),
  /** What it is and does; known once it was open. */
  task: z.string().optional(),
  architecture: z.string().optional(),
  parameters: z.int().optional(),
  context: z.int().optional(),
  vocab: z.int().optional(),
  labels: z.array(z.string()).optional(),
  chat: z.enum(["own", "plain", "none"]).optional(),
  mask: z.string().optional(),
});
export const modelResponse = modelEntry;
export const modelsResponse = z.object({ object: z.literal("list"), data: z.array(modelEntry) });

export const classifyResponse = z.object({
  model: z.string(),
  results: z.array(
    z.object({
      text: z.string(),
      label: z.string(),
      labels: z.array(z.string()).optional(),
      probabilities: z.record(z.string(), z.number()),
    }),
  ),
  warnings,
});

export const tagResponse = z.object({
  model: z.string(),
  results: z.array(z.object({ text: z.string(), tokens: z.array(z.string()), tags: z.array(z.string()) })),
  warnings,
});

export const fillResponse = z.object({
  model: z.string(),
  results: z.array(
    z.object({
      text: z.string(),
      masks: z.array(z.array(z.object({ token: z.string(), probability: z.number(), text: z.string() }))),
    }),
  ),
  warnings,
});

export const translateResponse = z.object({
  model: z.string(),
  results: z.array(z.object({ source: z.string(), target: z.string(), logProbability: z.number() })),
  warnings,
});

/** What the view has; see qkv look --json. */
export const lookResponse = z.looseObject({});

export const tokenizeResponse = z.object({ model: z.string(), tokens: z.array(z.int()), pieces: z.array(z.string()), count: z.int() });
export const detokenizeResponse = z.object({ model: z.string(), text: z.string() });

export const healthResponse = z.object({
  status: z.enum(["ok", "loading", "failed", "stopping"]),
  models: z.array(z.object({ name: z.string(), status: z.enum(["unloaded", "loading", "ready", "failed"]), error: z.string().optional() })),
});
