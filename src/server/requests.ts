import * as z from "zod";
import { attentionKinds } from "../inspection/look.ts";
import { between, whole } from "../models/bounds.ts";
import { type ViewName, views } from "../views/views.ts";
import type { Refused } from "./body.ts";

// What may be asked. Every field is checked here, by its name, before any model hears of it; the reference of the API is made of the same.

/** The most rows that one request may ask for. */
export const mostRows = 128;
const mostTexts = 2048;
const mostBiases = 1024;
const mostParts = 1000;
const mostMessages = 10_000;

const text = z.string();
const some = (schema: z.ZodType<string>, what: string) =>
  z.union([schema, z.array(schema).min(1).max(mostTexts)], { error: `${what}, or a list of 1 to ${mostTexts}, is wanted` });

const model = z.string().optional().describe("The name of a model that is served; it may be left out where there is only one.");

/** What both ways of writing take. */
const writing = {
  model,
  stream: z.boolean().nullish().describe("Tokens as they are written, as server-sent events."),
  stream_options: z
    .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.literal(false).nullish() })
    .nullish()
    .describe("include_usage: the last event counts tokens."),
  temperature: between(0, 2).nullish().describe("Below 1 surer, above 1 wilder, 0 always the likeliest token. 1 if left out."),
  top_p: between(0, 1).nullish().describe("Only the likeliest tokens that together have this probability."),
  n: whole(1, mostRows).nullish().describe("How many texts for each prompt."),
  stop: z
    .union([text.min(1), z.array(text.min(1)).min(1).max(4)], { error: "a text, or a list of 1 to 4, is wanted" })
    .nullish()
    .describe("Texts at which to stop; they are not part of the answer."),
  seed: whole(0, Number.MAX_SAFE_INTEGER)
    .nullish()
    .describe("The same seed writes the same text, whatever else is written at the same time."),
  logit_bias: z
    .record(z.string().regex(/^(0|[1-9]\d{0,8})$/, "the id of a token is wanted"), between(-100, 100))
    .refine((biases) => Object.keys(biases).length <= mostBiases, `at most ${mostBiases} tokens may have a bias`)
    .nullish()
    .describe("Added to the scores of tokens, by id; −100 forbids one."),
  presence_penalty: between(-2, 2).nullish().describe("Above 0: tokens that were written before become less likely."),
  frequency_penalty: between(-2, 2).nullish().describe("Above 0: the more often a token was written, the less likely it becomes."),
  user: z.string().max(256).nullish().describe("Who asks; it is part of the log line."),
  top_k: whole(0, 1e9).nullish().describe("Only the k likeliest tokens; 0 for all."),
  min_p: between(0, 1).nullish().describe("Only tokens with this share of the likeliest one's probability."),
  repetition_penalty: between(0.01, 1000)
    .nullish()
    .describe("Above 1: tokens that were there before, also in the prompt, become less likely."),
  beams: whole(1, 32).nullish().describe("Texts that are followed at once; the likeliest whole is given. Nothing is random then."),
  length_penalty: between(-10, 10)
    .nullish()
    .describe("With beams: log-probabilities are divided by length to this power before they are compared."),
  strict: z.boolean().nullish().describe("Refuse a prompt that is longer than the context (true, if left out), or drop its beginning."),
};

const promptText = text.describe("A text; empty, a text from its beginning.");
const ids = z.array(whole(0, 1e9)).min(1).max(1e6);

export const completionRequest = z.strictObject({
  ...writing,
  prompt: z
    .union([promptText, z.array(promptText).min(1).max(mostRows), ids, z.array(ids).min(1).max(mostRows)], {
      error: `a text, a list of token ids, or a list of 1 to ${mostRows} of them is wanted`,
    })
    .nullish(),
  max_tokens: whole(0, 1e6).nullish().describe("The most tokens to write; 16 if left out. 0 with echo: the prompt alone."),
  logprobs: whole(0, 20).nullish().describe("Every token with its log-probability, and with so many of the likeliest ones."),
  echo: z.boolean().nullish().describe("The prompt is part of the answer; with logprobs, its tokens too."),
});

const content = z.union(
  [
    text,
    z
      .array(z.strictObject({ type: z.literal("text"), text }))
      .min(1)
      .max(mostParts),
  ],
  {
    error: 'a text, or a list of parts { "type": "text", "text": … }, is wanted (pictures, sound and files are not supported)',
  },
);

/** What our own answers have, and clients send back with the conversation; it asks for nothing. */
const nothing = z.union([z.null(), z.array(z.never()).max(0)], { error: "this is not supported here; leave it out" }).optional();

const message = z.strictObject({
  role: z.enum(["system", "developer", "user", "assistant"], {
    error: "system, developer, user or assistant is wanted (tools are not supported)",
  }),
  content,
  name: z.string().max(64).nullish(),
  refusal: nothing,
  audio: nothing,
  annotations: nothing,
  tool_calls: nothing,
  function_call: nothing,
});

const schemaName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, "letters, digits, _ and -, at most 64, are wanted");
const responseFormat = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({ type: z.literal("json_object") }),
  z.strictObject({
    type: z.literal("json_schema"),
    json_schema: z.strictObject({
      name: schemaName,
      description: z.string().nullish(),
      schema: z.record(z.string(), z.unknown()),
      strict: z.boolean().nullish(),
    }),
  }),
]);

export const chatRequest = z.strictObject({
  ...writing,
  messages: z.array(message).min(1).max(mostMessages),
  max_tokens: whole(1, 1e6).nullish().describe("The most tokens to write; what the context has room for, if left out."),
  max_completion_tokens: whole(1, 1e6).nullish().describe("The newer name of max_tokens."),
  logprobs: z.boolean().nullish().describe("Every token with its log-probability."),
  top_logprobs: whole(0, 20).nullish().describe("With logprobs: so many of the likeliest tokens at each place."),
  response_format: responseFormat.nullish().describe("The form of the answer: text, any JSON object, or what a JSON schema allows."),
});

export const embeddingRequest = z.strictObject({
  model,
  input: some(text.min(1, "a text with something in it is wanted"), "a text").describe(
    "Texts; token ids of another tokenizer would mean nothing here.",
  ),
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: whole(1, 1e6).nullish().describe("Must be what the model has."),
  user: writing.user,
  pool: z
    .enum(["mean", "class", "last"])
    .nullish()
    .describe("How states become one vector; as the model says, if left out. last: what a decoder's last token knows."),
  normalise: z.boolean().nullish().describe("Vectors of length 1 (true, if left out)."),
});

const texts = { model, input: some(text, "a text") };
export const classifyRequest = z.strictObject(texts);
export const tagRequest = z.strictObject(texts);
export const fillRequest = z.strictObject({ ...texts, top: whole(1, 100).nullish() });
export const translateRequest = z.strictObject({
  ...texts,
  beams: writing.beams,
  length_penalty: writing.length_penalty,
});

const viewNames = Object.keys(views).filter((name) => name !== "loss") as [ViewName, ...ViewName[]];
export const lookRequest = z.strictObject({
  model,
  text: text.nullish().describe("The text to look at; not for the views positions and path."),
  view: z.enum(viewNames).nullish().describe("attention, if left out."),
  target: text.nullish().describe("The other side of a pair; what the model itself writes, if left out."),
  layer: whole(0, 1e6).nullish(),
  head: whole(0, 1e6).nullish(),
  kind: z.enum(attentionKinds).nullish(),
  query: text.max(256).nullish(),
  top: whole(1, 100).nullish(),
  label: text.max(256).nullish(),
  position: whole(0, 1e6).nullish(),
  format: z.enum(["json", "svg"]).nullish(),
});

export const tokenizeRequest = z
  .strictObject({ model, text: text.optional(), messages: z.array(message).min(1).max(mostMessages).optional() })
  .refine(({ text: given, messages }) => (given === undefined) !== (messages === undefined), "text or messages is wanted, one of the two");
export const detokenizeRequest = z.strictObject({ model, tokens: z.array(whole(0, 1e9)).max(1e6) });

export type CompletionRequest = z.output<typeof completionRequest>;
export type ChatRequest = z.output<typeof chatRequest>;

/** Of OpenAI's fields, those that nothing here could do, with what may be sent all the same because it asks for nothing. */
const refusedBoth: Refused = {
  store: [false],
  metadata: [{}],
  service_tier: ["auto", "default"],
  safety_identifier: [],
  prompt_cache_key: [],
};
export const refusedCompletion: Refused = { ...refusedBoth, best_of: [1], suffix: [""] };
export const refusedChat: Refused = {
  ...refusedBoth,
  audio: [],
  function_call: ["none", "auto"],
  functions: [[]],
  modalities: [["text"]],
  parallel_tool_calls: [true, false],
  prediction: [],
  prompt_cache_retention: [],
  reasoning_effort: ["none"],
  tool_choice: ["none", "auto"],
  tools: [[]],
  verbosity: ["medium"],
  web_search_options: [],
  echo: [false],
};
