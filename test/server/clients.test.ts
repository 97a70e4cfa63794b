import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embed, embedMany, generateObject, generateText, streamObject, streamText } from "ai";
import OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { open } from "../../src/entries/qkv.ts";
import { Workplace } from "../support/command.ts";
import { chatModel, hubModel, Served, trainSmall, within } from "../support/serve.ts";

// The clients that people have, as npm brings them: nothing of them is changed, and nothing in between.

const place = new Workplace();
let served: Served;
let client: OpenAI;

beforeAll(async () => {
  await trainSmall(place, "decoder", "capitals");
  served = await Served.start(place, ["decoder", "capitals", `chat=${chatModel}`, `embed=${hubModel("bert-embed")}`]);
  client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: "none", maxRetries: 0 });
});

async function collected<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const hello = [{ role: "user", content: "Hello" }] as const;

describe("the openai client completes", () => {
  it("what a model has learned, and counts tokens", async () => {
    const { object, model, choices, usage } = await client.completions.create({
      model: "capitals",
      prompt: "The capital of Kenya is",
      temperature: 0,
    });
    expect({ object, model, choices }).toEqual({
      object: "text_completion",
      model: "capitals",
      choices: [{ index: 0, text: " Nairobi.", logprobs: null, finish_reason: "stop" }],
    });
    expect(usage).toEqual({ prompt_tokens: 23, completion_tokens: 9, total_tokens: 32 });
  });

  it("several prompts, each several times, in the order of the prompts", async () => {
    const prompt = ["The capital of Peru is", "The capital of Cuba is"];
    const { choices, usage } = await client.completions.create({ model: "capitals", prompt, n: 2, temperature: 0 });
    expect(choices.map(({ index, text }) => [index, text])).toEqual([
      [0, " Lima."],
      [1, " Lima."],
      [2, " Havana."],
      [3, " Havana."],
    ]);
    expect(usage?.completion_tokens).toBe(2 * (6 + 8));
  });

  it("the same text for the same seed, alone or among others, as a stream or whole, and as the library does", async () => {
    const asked = { model: "decoder", prompt: "the cat", max_tokens: 12, seed: 7, n: 3 } as const;
    const texts = ({ choices }: OpenAI.Completion) => choices.map(({ text }) => text);
    const [first, second] = await Promise.all([client.completions.create(asked), client.completions.create(asked)]);
    expect(texts(first)).toEqual(texts(second));
    expect(new Set(texts(first)).size).toBe(3);
    const streamed = ["", "", ""];
    for await (const { choices } of await client.completions.create({ ...asked, stream: true }))
      for (const { index, text } of choices) streamed[index] += text;
    expect(streamed).toEqual(texts(first));
    const [samples] = await open(place.path("decoder"), { threads: 1 }).samples(["the cat"], {
      samples: 3,
      tokens: 12,
      seed: 7,
      temperature: 1,
    });
    expect(samples.map(({ text }) => text)).toEqual(streamed);
  });

  it("up to a stop string, which is not part of the text", async () => {
    const asked = { model: "capitals", prompt: "The capital of Kenya is", temperature: 0 } as const;
    const one = await client.completions.create({ ...asked, stop: "robi" });
    expect(one.choices[0]).toMatchObject({ text: " Nai", finish_reason: "stop" });
    const several = await client.completions.create({ ...asked, stop: ["never", "i"] });
    expect(several.choices[0]).toMatchObject({ text: " Na", finish_reason: "stop" });
    let text = "";
    for await (const { choices } of await client.completions.create({ ...asked, stop: "robi", stream: true })) text += choices[0].text;
    expect(text).toBe(" Nai");
  });

  it("with log-probabilities", async () => {
    const { choices } = await client.completions.create({
      model: "capitals",
      prompt: "The capital of Peru is",
      temperature: 0,
      logprobs: 0,
    });
    const { tokens, token_logprobs, text_offset } = choices[0].logprobs ?? {};
    expect(tokens?.slice(0, 6)).toEqual([...` Lima.`]);
    expect(text_offset?.slice(0, 6)).toEqual([0, 1, 2, 3, 4, 5]);
    for (const one of token_logprobs ?? []) expect(one).toBeLessThanOrEqual(0);
  });

  it("as a stream whose last event counts the tokens", async () => {
    const asked = { model: "capitals", prompt: "The capital of Egypt is", temperature: 0, stream: true } as const;
    const chunks = await collected(await client.completions.create({ ...asked, stream_options: { include_usage: true } }));
    expect(chunks.map(({ choices }) => choices[0]?.text ?? "").join("")).toBe(" Cairo.");
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 23, completion_tokens: 7, total_tokens: 30 } });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    expect(chunks.at(-2)?.choices[0].finish_reason).toBe("stop");
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });
});

describe("the openai client chats", () => {
  it("with a model that has a template", async () => {
    const { choices, usage, object } = await client.chat.completions.create({
      model: "chat",
      messages: [...hello],
      max_tokens: 6,
      seed: 1,
    });
    expect(object).toBe("chat.completion");
    expect(choices).toEqual([
      { index: 0, message: { role: "assistant", content: expect.any(String), refusal: null }, logprobs: null, finish_reason: "length" },
    ]);
    expect(usage?.completion_tokens).toBe(6);
    const { tokens } = (await (await served.post("/tokenize", { model: "chat", messages: hello })).json()) as { tokens: number[] };
    expect(usage?.prompt_tokens).toBe(tokens.length);
  });

  it("as a stream: the role first, then the text, then the reason, then the tokens", async () => {
    const asked = { model: "chat", messages: [...hello], max_completion_tokens: 6, seed: 1 };
    const whole = await client.chat.completions.create(asked);
    const chunks = await collected(
      await client.chat.completions.create({ ...asked, stream: true, stream_options: { include_usage: true } }),
    );
    expect(chunks[0].choices[0].delta).toEqual({ role: "assistant", content: "" });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe(whole.choices[0].message.content);
    expect(chunks.at(-2)?.choices[0].finish_reason).toBe("length");
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
  });

  it("by the helpers of the client, which put a stream together", async () => {
    const runner = client.chat.completions.stream({ model: "chat", messages: [...hello], max_tokens: 6, seed: 1, n: 2 });
    const { choices } = await runner.finalChatCompletion();
    const whole = await client.chat.completions.create({ model: "chat", messages: [...hello], max_tokens: 6, seed: 1, n: 2 });
    expect(choices.map(({ message }) => message.content)).toEqual(whole.choices.map(({ message }) => message.content));
  });

  it("with log-probabilities, whole and as a stream", async () => {
    const asked = { model: "chat", messages: [...hello], max_tokens: 4, seed: 3, logprobs: true };
    const whole = await client.chat.completions.create(asked);
    const content = whole.choices[0].logprobs?.content ?? [];
    expect(content).toHaveLength(4);
    for (const one of content) expect(one.logprob).toBeLessThanOrEqual(0);
    const chunks = await collected(await client.chat.completions.create({ ...asked, stream: true }));
    expect(chunks.flatMap(({ choices }) => choices[0]?.logprobs?.content ?? [])).toEqual(content);
  });

  it("with contents in parts, a system and a developer", async () => {
    const ask = (messages: OpenAI.ChatCompletionMessageParam[]) =>
      client.chat.completions.create({ model: "chat", messages, max_tokens: 5, seed: 1 });
    const parts = await ask([
      { role: "system", content: "Be short." },
      { role: "user", content: [{ type: "text", text: "Hello" }] },
    ]);
    const plain = await ask([
      { role: "developer", content: "Be short." },
      { role: "user", content: "Hello" },
    ]);
    expect(parts.choices).toEqual(plain.choices);
  });

  it("in turns: the message that was answered is sent back as it came", async () => {
    const ask = (messages: OpenAI.ChatCompletionMessageParam[]) =>
      client.chat.completions.create({ model: "chat", messages, max_tokens: 5, seed: 1 });
    const { message } = (await ask([...hello])).choices[0];
    const next = { role: "user", content: "And now?" } as const;
    const second = await ask([...hello, message, next]);
    const bare = await ask([...hello, { role: "assistant", content: message.content }, next]);
    expect(second.choices).toEqual(bare.choices);
    const others = { name: null, tool_calls: [], annotations: [], audio: null, function_call: null } as never;
    expect((await ask([{ ...hello[0], ...(others as object) }])).choices).toEqual((await ask([...hello])).choices);
    await expect(ask([...hello, { ...message, tool_calls: [{ id: "a" }] } as never, next])).rejects.toThrow(/tool_calls/);
  });

  it("with a model that knows no conversations, as with a plain text", async () => {
    const { choices } = await client.chat.completions.create({ model: "decoder", messages: [...hello], max_tokens: 5 });
    expect(choices[0].message.role).toBe("assistant");
  });
});

describe("the openai client embeds", () => {
  it("in base64 by itself, which are the same numbers", async () => {
    const asked = { model: "embed", input: ["the cat", "a dog"] };
    const usual = await client.embeddings.create(asked);
    const floats = await client.embeddings.create({ ...asked, encoding_format: "float" });
    expect(usual.data.map(({ embedding }) => Array.from(embedding))).toEqual(floats.data.map(({ embedding }) => embedding));
    expect(usual.usage).toEqual(floats.usage);
    const own = await open(hubModel("bert-embed"), { threads: 1 }).embed(asked.input);
    const length = Math.hypot(...own[0]);
    for (const [i, value] of floats.data[0].embedding.entries()) expect(value).toBeCloseTo(own[0][i] / length, 5);
  });
});

describe("the openai client lists", () => {
  it("models, and one of them", async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toEqual(["decoder", "capitals", "chat", "embed"]);
    expect(await client.models.retrieve("chat")).toMatchObject({ id: "chat", object: "model", owned_by: "qkv", context: 256 });
    await expect(client.models.retrieve("chart")).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });
});

/** The error that a client throws. */
async function thrown<Kind extends Error>(promise: PromiseLike<unknown>, kind: abstract new (...args: never) => Kind): Promise<Kind> {
  const error = await promise.then(
    () => undefined,
    (found: unknown) => found,
  );
  expect(error).toBeInstanceOf(kind);
  return error as Kind;
}

describe("the openai client throws", () => {
  it("NotFoundError for a model that there is not, with the sentence", async () => {
    const error = await thrown(client.completions.create({ model: "capitol", prompt: "a" }), OpenAI.NotFoundError);
    expect(error).toMatchObject({ status: 404, code: "model_not_found", param: "model", type: "invalid_request_error" });
    expect(error.message).toContain('there is no model called "capitol" here; did you mean');
  });

  it("BadRequestError for a wrong value, with the field", async () => {
    const error = await thrown(client.completions.create({ model: "decoder", prompt: "a", temperature: 3 }), OpenAI.BadRequestError);
    expect(error).toMatchObject({ status: 400, param: "temperature", message: "400 temperature: a number from 0 to 2 is wanted, not 3" });
  });

  it("BadRequestError for what is not supported, by name", async () => {
    const tools = [{ type: "function", function: { name: "look", parameters: {} } }] as const;
    const error = await thrown(
      client.chat.completions.create({ model: "chat", messages: [...hello], tools: [...tools] }),
      OpenAI.BadRequestError,
    );
    expect(error).toMatchObject({ code: "unsupported_parameter", param: "tools" });
  });

  it("the same before a stream begins", async () => {
    await thrown(client.completions.create({ model: "decoder", prompt: "a", top_p: 2, stream: true }), OpenAI.BadRequestError);
    const long = "the cat sat ".repeat(10);
    const error = await thrown(client.completions.create({ model: "decoder", prompt: long, stream: true }), OpenAI.BadRequestError);
    expect(error.code).toBe("context_length_exceeded");
  });
});

describe("a key", () => {
  let secured: Served;
  beforeAll(async () => {
    secured = await Served.start(place, ["decoder"], { QKV_API_KEY: "sk-right" });
  });

  it("that is wrong or missing is an AuthenticationError, and the right one lets in", async () => {
    const of = (apiKey: string) => new OpenAI({ baseURL: `${secured.url}/v1`, apiKey, maxRetries: 0 });
    expect((await of("sk-right").models.list()).data).toHaveLength(1);
    const wrong = await thrown(of("sk-wrong").models.list(), OpenAI.AuthenticationError);
    expect(wrong).toMatchObject({ status: 401, code: "invalid_api_key", message: "401 this API key is not the right one" });
    const none = of("unused");
    await thrown(none.models.list({ headers: { Authorization: null } }), OpenAI.AuthenticationError);
  });

  it("is taken from the AI SDK too", async () => {
    const of = (apiKey: string) => createOpenAICompatible({ name: "qkv", baseURL: `${secured.url}/v1`, apiKey });
    const ask = (apiKey: string) => generateText({ model: of(apiKey).completionModel("decoder"), prompt: "the", maxOutputTokens: 3 });
    expect((await ask("sk-right")).usage.outputTokens).toBeLessThanOrEqual(3);
    expect(await thrown(ask("sk-wrong"), APICallError)).toMatchObject({ statusCode: 401, message: "this API key is not the right one" });
  });
});

describe("too many at once", () => {
  it("are told to wait, and the client comes again by itself", async () => {
    const narrow = await Served.start(place, ["decoder", "--max-waiting", "1"]);
    const patient = new OpenAI({ baseURL: `${narrow.url}/v1`, apiKey: "none", maxRetries: 10 });
    const asked = { model: "decoder", prompt: "the cat", max_tokens: 30 } as const;
    const refused = await narrowed(narrow, asked);
    expect(refused).toMatchObject({ status: 429, code: "rate_limit_exceeded", type: "rate_limit_error" });
    expect(refused.headers?.get("retry-after")).toBe("1");
    const answers = await Promise.all(Array.from({ length: 12 }, () => patient.completions.create(asked)));
    expect(answers).toHaveLength(12);
    expect(narrow.requests.filter(({ status }) => status === 429).length).toBeGreaterThan(1);
    expect(narrow.requests.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(12);
  });

  /** What somebody who does not try again is told. */
  async function narrowed(narrow: Served, asked: { readonly model: "decoder"; readonly prompt: string; readonly max_tokens: number }) {
    const hasty = new OpenAI({ baseURL: `${narrow.url}/v1`, apiKey: "none", maxRetries: 0 });
    const all = await Promise.allSettled(Array.from({ length: 12 }, () => hasty.completions.create(asked)));
    const [found] = all.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    expect(found).toBeInstanceOf(OpenAI.RateLimitError);
    return found as InstanceType<typeof OpenAI.RateLimitError>;
  }
});

describe("a client that leaves in the middle of a stream", () => {
  it.each(["breaks off the loop", "aborts"] as const)("and %s is noticed within a second", async (how) => {
    const before = served.requests.length;
    const stop = new AbortController();
    const stream = await client.completions.create(
      { model: "decoder", prompt: "the cat", max_tokens: 50_000, stream: true, logit_bias: { 1: -100, 2: -100 }, n: 4, user: how },
      { signal: stop.signal },
    );
    let seen = 0;
    try {
      for await (const _ of stream) {
        if (++seen < 5) continue;
        if (how === "breaks off the loop") break;
        stop.abort();
      }
    } catch (error) {
      expect(error).toBeInstanceOf(OpenAI.APIUserAbortError);
    }
    expect(await within(1000, async () => (await served.metric("qkv_requests_running")) === 0)).toBe(true);
    expect(served.requests.slice(before).find(({ user }) => user === how)).toMatchObject({ status: 499, error: "client_gone" });
  });
});

describe("the AI SDK", () => {
  const provider = () => createOpenAICompatible({ name: "qkv", baseURL: `${served.url}/v1`, includeUsage: true });

  it("generates text by chat", async () => {
    const asked = { model: provider()("chat"), system: "Be short.", messages: [...hello], maxOutputTokens: 5, seed: 5 };
    const { text, usage, finishReason, warnings } = await generateText(asked);
    expect([usage.outputTokens, finishReason]).toEqual([5, "length"]);
    expect(warnings).toEqual([]);
    expect((await generateText(asked)).text).toBe(text);
  });

  it("streams text by chat, with usage", async () => {
    const asked = { model: provider()("chat"), prompt: "Hello", maxOutputTokens: 5, seed: 4 };
    const stream = streamText(asked);
    const text = (await collected(stream.textStream)).join("");
    expect(text).toBe((await generateText(asked)).text);
    expect((await stream.usage).outputTokens).toBe(5);
    expect(await stream.finishReason).toBe("length");
  });

  it("goes on with a text", async () => {
    const { text } = await generateText({
      model: provider().completionModel("capitals"),
      prompt: "Hello",
      maxOutputTokens: 5,
      seed: 4,
      topP: 0.9,
      stopSequences: ["."],
    });
    expect(text).not.toContain(".");
  });

  it("embeds one text and many", async () => {
    const model = provider().embeddingModel("embed");
    const { embedding, usage } = await embed({ model, value: "the cat" });
    const { embeddings } = await embedMany({ model, values: ["the cat", "a dog"] });
    expect(embeddings[0].map((value) => value.toFixed(5))).toEqual(embedding.map((value) => value.toFixed(5)));
    expect(usage.tokens).toBeGreaterThan(0);
  });

  it("throws what the server says", async () => {
    const ask = generateText({ model: provider()("chat"), prompt: "a", temperature: 5, maxRetries: 0 });
    const error = await thrown(ask, APICallError);
    expect(error).toMatchObject({ statusCode: 400, message: "temperature: a number from 0 to 2 is wanted, not 5", isRetryable: false });
  });

  it("stops a stream when it is told to", async () => {
    const before = served.requests.length;
    const stop = new AbortController();
    const { textStream } = streamText({
      model: provider().completionModel("decoder"),
      prompt: "the cat",
      maxOutputTokens: 50_000,
      providerOptions: { qkv: { logit_bias: { "2": -100 } } }, // the token that would end it
      abortSignal: stop.signal,
    });
    let seen = 0;
    for await (const _ of textStream) if (++seen === 5) stop.abort();
    expect(await within(1000, async () => (await served.metric("qkv_requests_running")) === 0)).toBe(true);
    expect(await within(2000, () => served.requests.slice(before).some(({ status }) => status === 499))).toBe(true);
  });
});

describe("answers of a given form", () => {
  const person = z.object({ name: z.string().max(8), age: z.int().min(0).max(99), kind: z.enum(["cat", "dog"]) });
  const jsonSchema = { name: "person", strict: true, schema: z.toJSONSchema(person) as Record<string, unknown> };
  const provider = () => createOpenAICompatible({ name: "qkv", baseURL: `${served.url}/v1`, supportsStructuredOutputs: true });

  it("are what a JSON schema allows, from the openai client", async () => {
    const asked = { model: "chat", messages: [...hello], seed: 1, max_tokens: 200 };
    const form = { type: "json_schema", json_schema: jsonSchema } as const;
    const { choices } = await client.chat.completions.create({ ...asked, n: 4, response_format: form });
    for (const { message, finish_reason } of choices) {
      expect(finish_reason).toBe("stop");
      person.parse(JSON.parse(message.content ?? ""));
    }
    let text = "";
    for await (const chunk of await client.chat.completions.create({ ...asked, stream: true, response_format: form }))
      text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe(choices[0].message.content);
  });

  it("are any JSON object", async () => {
    const { choices } = await client.chat.completions.create({
      model: "chat",
      messages: [...hello],
      seed: 1,
      max_tokens: 200,
      response_format: { type: "json_object" },
    });
    const [{ message, finish_reason }] = choices;
    if (finish_reason === "stop") expect(JSON.parse(message.content ?? "")).toBeTypeOf("object");
    else expect(message.content).toMatch(/^\s*\{/);
  });

  it("are objects for generateObject", async () => {
    const { object } = await generateObject({ model: provider()("chat"), schema: person, prompt: "Who?", seed: 1, maxOutputTokens: 200 });
    expect(person.parse(object)).toEqual(object);
  });

  it("are objects for streamObject, piece by piece", async () => {
    const stream = streamObject({ model: provider()("chat"), schema: person, prompt: "Who?", seed: 1, maxOutputTokens: 200 });
    const parts = await collected(stream.partialObjectStream);
    expect(parts.at(-1)).toEqual(await stream.object);
  });

  it("cannot be asked for by a schema that is none", async () => {
    const schema = { type: "strange" };
    const asked = client.chat.completions.create({
      model: "chat",
      messages: [...hello],
      response_format: { type: "json_schema", json_schema: { name: "x", schema } },
    });
    expect(await thrown(asked, OpenAI.BadRequestError)).toMatchObject({ param: "response_format.json_schema.schema" });
  });
});
