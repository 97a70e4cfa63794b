import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { open } from "../../src/entries/qkv.ts";
import { answersOf, rowsOf } from "../../src/inspection/answers.ts";
import { readingOf } from "../../src/inspection/reading.ts";
import { refusedChat, refusedCompletion } from "../../src/server/requests.ts";
import { chatChunk, completionResponse } from "../../src/server/responses.ts";
import { Workplace } from "../support/command.ts";
import { Reference } from "../support/openapi.ts";
import { chatModel, hubModel, Served, trainSmall } from "../support/serve.ts";

// Every field of what writes, by plain requests; the answers have the shapes that /openapi.json promises.

const place = new Workplace();
let served: Served;
let reference: Reference;

beforeAll(async () => {
  await trainSmall(place, "decoder", "capitals", "rnn", "translator", "classifier");
  const models = ["decoder", "capitals", "rnn", "translator", "classifier"];
  served = await Served.start(place, [...models, `chat=${chatModel}`, `embed=${hubModel("bert-embed")}`]);
  reference = await Reference.of(served);
});

interface Logprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly (number | null)[];
  readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[];
  readonly text_offset: readonly number[];
}
interface Written {
  readonly choices: readonly {
    readonly index: number;
    readonly text: string;
    readonly message: { readonly content: string };
    readonly logprobs: Logprobs | null;
    readonly finish_reason: string;
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number };
  readonly warnings?: readonly string[];
}
interface Wrong {
  readonly error: { readonly message: string; readonly type: string; readonly param: string | null; readonly code: string | null };
}

async function asked(path: string, body: unknown, status = 200): Promise<unknown> {
  const response = await served.post(path, body);
  const value = await reference.checked(path, response);
  expect(response.status, JSON.stringify(value)).toBe(status);
  return value;
}
const complete = (body: object) => asked("/v1/completions", { model: "decoder", prompt: "the cat", ...body }) as Promise<Written>;
const texts = ({ choices }: Written): string[] => choices.map(({ text }) => text);
const hello = [{ role: "user", content: "Hello" }];
const chat = (body: object) => asked("/v1/chat/completions", { model: "chat", messages: hello, ...body }) as Promise<Written>;
const wrong = async (path: string, body: unknown, status = 400) => ((await asked(path, body, status)) as Wrong).error;
const wrongCompletion = (body: object) => wrong("/v1/completions", { model: "decoder", prompt: "the cat", ...body });
const wrongChat = (body: object) => wrong("/v1/chat/completions", { model: "chat", messages: hello, ...body });

/** The events of a stream, whose shapes are checked; the last says that it is whole. */
async function streamed(path: string, body: object): Promise<Written[]> {
  const response = await served.post(path, { stream: true, ...body });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("no-store");
  const events = (await response.text()).split("\n\n");
  expect(events.slice(-2)).toEqual(["data: [DONE]", ""]);
  const shape = z.fromJSONSchema(z.toJSONSchema(path === "/v1/completions" ? completionResponse : chatChunk) as never);
  return events.slice(0, -2).map((event) => {
    expect(event).toMatch(/^data: \{[^\n]*\}$/);
    return shape.parse(JSON.parse(event.slice("data: ".length))) as Written;
  });
}

describe("a prompt", () => {
  it("is a text, ids, or a list of either, and all of these are the same", async () => {
    const { tokens } = (await asked("/tokenize", { model: "decoder", text: "the cat" })) as { tokens: number[] };
    const given = { seed: 3, max_tokens: 6 };
    const plain = await complete({ ...given, prompt: "the cat" });
    for (const prompt of [["the cat"], tokens, [tokens]]) expect(texts(await complete({ ...given, prompt }))).toEqual(texts(plain));
    expect(plain.usage).toMatchObject({ prompt_tokens: 7 });
  });

  it("may be empty, null or left out: a text from its beginning", async () => {
    const given = { seed: 3, max_tokens: 6 };
    const [empty, none] = [await complete({ ...given, prompt: "" }), await complete({ ...given, prompt: null })];
    expect(texts(none)).toEqual(texts(empty));
    const { choices } = (await asked("/v1/completions", { model: "decoder", ...given })) as Written;
    expect(choices[0].text).toBe(texts(empty)[0]);
  });

  it("has ids that the vocabulary has", async () => {
    expect(await wrongCompletion({ prompt: [1, 2, 5000] })).toMatchObject({
      message: expect.stringContaining("the token id 5000 is not in the vocabulary"),
    });
    expect(await wrongCompletion({ prompt: [] })).toMatchObject({ param: "prompt" });
    expect(await wrongCompletion({ prompt: [[]] })).toMatchObject({ param: "prompt.0" });
    expect(await wrongCompletion({ prompt: [1, "a"] })).toMatchObject({ param: "prompt" });
    expect(await wrongCompletion({ prompt: [1.5] })).toMatchObject({ param: "prompt" });
  });

  it("that is too long is refused, or loses its beginning with a warning", async () => {
    const prompt = "the cat sat on the mat, ".repeat(4);
    const refused = await wrongCompletion({ prompt });
    expect(refused).toMatchObject({ code: "context_length_exceeded", type: "invalid_request_error" });
    expect(refused.message).toMatch(/96 .*64/);
    const { warnings, usage } = await complete({ prompt, strict: false, max_tokens: 2 });
    expect(warnings).toEqual([expect.stringMatching(/96 .*64/)]);
    expect(usage.prompt_tokens).toBe(64);
    const far = await wrongCompletion({ prompt: "the cat ".repeat(10_000), strict: false });
    expect(far.code).toBe("context_length_exceeded");
    expect((await wrongChat({ messages: [{ role: "user", content: "word ".repeat(300) }] })).code).toBe("context_length_exceeded");
  });

  it("of an RNN may be of any length", async () => {
    const { usage } = await complete({ model: "rnn", prompt: "the cat sat ".repeat(100), max_tokens: 2 });
    expect(usage).toMatchObject({ prompt_tokens: 1200 });
  });
});

describe("echo", () => {
  it("gives the prompt, and its log-probabilities, which are those of the library", async () => {
    const run = open(place.path("decoder"), { threads: 1 });
    const { choices } = await complete({ prompt: "the cat", echo: true, logprobs: 3, max_tokens: 4, seed: 1 });
    const [{ text, logprobs }] = choices;
    expect(text.startsWith("the cat")).toBe(true);
    const ids = Array.from(run.tokenizer.encode("the cat"));
    const rows = rowsOf((await answersOf(run, await readingOf(run, "the cat"))).logProbabilities);
    const own = ids.slice(1).map((id, i) => rows[i][id]);
    const told = logprobs?.token_logprobs.slice(0, ids.length) ?? [];
    expect(told[0]).toBeNull();
    for (const [i, value] of own.entries()) expect(told[i + 1]).toBeCloseTo(value, 4);
    expect(logprobs?.tokens.slice(0, 7)).toEqual([..."the cat"]);
    expect(logprobs?.text_offset.slice(0, 7)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(logprobs?.top_logprobs[0]).toBeNull();
    for (const [i, row] of rows.slice(0, 6).entries()) {
      const best = Object.values(logprobs?.top_logprobs[i + 1] ?? {}).sort((a, b) => b - a); // digits come first in an object
      expect(best).toHaveLength(3);
      for (const [k, value] of [...row]
        .sort((a, b) => b - a)
        .slice(0, 3)
        .entries())
        expect(best[k]).toBeCloseTo(value, 4);
    }
  });

  it("with max_tokens 0 gives the prompt alone, whole or as a stream", async () => {
    const given = { prompt: ["the cat", "a mat"], echo: true, logprobs: 0, max_tokens: 0 };
    const whole = await complete(given);
    expect(texts(whole)).toEqual(["the cat", "a mat"]);
    expect(whole.usage).toMatchObject({ prompt_tokens: 12, completion_tokens: 0 });
    expect(whole.choices[0]).toMatchObject({ finish_reason: "length", logprobs: { token_logprobs: { length: 7 } } });
    const events = await streamed("/v1/completions", { model: "decoder", ...given });
    expect(events.flatMap(({ choices }) => choices).map(({ index, text }) => [index, text])).toContainEqual([1, "a mat"]);
    expect(await wrongCompletion({ max_tokens: 0 })).toMatchObject({ param: "max_tokens" });
  });

  it("is not for a model that answers a source", async () => {
    expect(await wrongCompletion({ model: "translator", prompt: "number 1", echo: true })).toMatchObject({ param: "echo" });
    expect(await wrongChat({ echo: true })).toMatchObject({ code: "unsupported_parameter", param: "echo" });
  });
});

describe("what is written", () => {
  it("has at most so many tokens, 16 if nothing is said", async () => {
    const never = { logit_bias: { 1: -100, 2: -100 } };
    expect((await complete(never)).usage.completion_tokens).toBe(16);
    expect((await complete({ ...never, max_tokens: 3 })).choices[0].finish_reason).toBe("length");
    expect((await chat({ max_tokens: 3, max_completion_tokens: 3 })).usage.completion_tokens).toBeLessThanOrEqual(3);
    expect(await wrongChat({ max_tokens: 3, max_completion_tokens: 4 })).toMatchObject({ param: "max_tokens" });
  });

  it("ends before a stop string, which may lie across tokens, also as a stream", async () => {
    const given = { model: "capitals", prompt: "The capital of Cuba is", temperature: 0 };
    for (const [stop, text] of [
      ["ana", " Hav"],
      [["x", "van"], " Ha"],
      [" H", ""],
      ["never", " Havana."],
    ] as const) {
      expect(await complete({ ...given, stop })).toMatchObject({ choices: [{ text, finish_reason: "stop" }] });
      const events = await streamed("/v1/completions", { ...given, stop });
      expect(events.map(({ choices }) => choices[0].text).join("")).toBe(text);
    }
    for (const stop of ["", [], ["a", "b", "c", "d", "e"], [""], 3])
      expect(await wrongCompletion({ stop })).toMatchObject({ param: expect.stringContaining("stop") });
  });

  it("has no token with a bias of −100, and only one with 100", async () => {
    const { tokens } = (await asked("/tokenize", { model: "capitals", text: "NLz." })) as { tokens: number[] };
    const given = { model: "capitals", prompt: "The capital of Kenya is" };
    const [n] = tokens;
    for (let seed = 0; seed < 5; seed++)
      expect(texts(await complete({ ...given, seed, n: 4, temperature: 2, logit_bias: { [n]: -100 } })).join("")).not.toContain("N");
    const { choices } = await complete({ ...given, max_tokens: 5, logit_bias: { [n]: 100 } });
    expect(choices[0].text).toBe("NNNNN");
    expect(await wrongCompletion({ logit_bias: { 99999: 1 } })).toMatchObject({
      message: expect.stringContaining("the token id 99999 is not in the vocabulary"),
    });
    expect(await wrongCompletion({ logit_bias: { a: 1 } })).toMatchObject({ param: expect.stringContaining("logit_bias") });
    expect(await wrongCompletion({ logit_bias: { 5: 101 } })).toMatchObject({ param: "logit_bias.5" });
  });

  it("is the likeliest whole with beams", async () => {
    const run = open(place.path("decoder"), { threads: 1 });
    const [best] = await run.best(["the cat"], { beams: 4, samples: 2, tokens: 5 });
    const found = await complete({ beams: 4, n: 2, max_tokens: 5 });
    expect(texts(found)).toEqual(best.map(({ text }) => text));
    const penalised = await complete({ beams: 4, n: 2, max_tokens: 5, length_penalty: 0.5 });
    expect(penalised.choices).toHaveLength(2);
    const events = await streamed("/v1/completions", { model: "decoder", prompt: "the cat", beams: 4, n: 2, max_tokens: 5 });
    expect(events.flatMap(({ choices }) => choices).map(({ text }) => text)).toEqual(texts(found));
  });

  it("is not drawn and compared at once", async () => {
    expect(await wrongCompletion({ length_penalty: 1 })).toMatchObject({ param: "length_penalty", code: "config.conflict" });
    expect(await wrongCompletion({ beams: 1, length_penalty: 1 })).toMatchObject({ param: "length_penalty" });
    expect(await wrongCompletion({ beams: 2, n: 3 })).toMatchObject({ param: "n" });
    for (const [name, value] of Object.entries({
      temperature: 1,
      top_p: 1,
      top_k: 1,
      min_p: 0,
      repetition_penalty: 1,
      logit_bias: {},
      seed: 1,
    }))
      expect(await wrongCompletion({ beams: 2, [name]: value })).toMatchObject({ param: name, code: "config.conflict" });
  });

  it("is told with log-probabilities, whole and as a stream", async () => {
    const given = { model: "decoder", prompt: "the cat", max_tokens: 5, seed: 2, logprobs: 1, n: 2 };
    const { choices } = (await asked("/v1/completions", given)) as Written;
    const events = (await streamed("/v1/completions", given)).flatMap((event) => event.choices);
    for (const { index, logprobs } of choices) {
      const own = events.filter((event) => event.index === index);
      for (const key of ["tokens", "token_logprobs", "text_offset"] as const)
        expect(own.flatMap((event): readonly unknown[] => event.logprobs?.[key] ?? [])).toEqual(logprobs?.[key]);
    }
  });

  it("is counted at the end of a stream that asks for it", async () => {
    const given = { model: "decoder", prompt: "the cat", max_tokens: 5, seed: 2, n: 2 };
    const { usage } = (await asked("/v1/completions", given)) as Written;
    const events = await streamed("/v1/completions", { ...given, stream_options: { include_usage: true } });
    expect(events.at(-1)).toMatchObject({ choices: [], usage });
    expect(await wrongCompletion({ stream_options: { include_usage: true } })).toMatchObject({ param: "stream_options" });
  });
});

describe("a conversation", () => {
  it("is what the model's template makes of it, whole and as a stream", async () => {
    const given = { model: "chat", messages: hello, max_tokens: 5, seed: 1, n: 2 };
    const { choices, usage } = await chat(given);
    const events = (await streamed("/v1/chat/completions", given)).flatMap(
      (event) => event.choices as unknown as { index: number; delta: { content?: string } }[],
    );
    for (const { index, message } of choices)
      expect(
        events
          .filter((event) => event.index === index)
          .map(({ delta }) => delta.content ?? "")
          .join(""),
      ).toBe(message.content);
    const { count } = (await asked("/tokenize", { model: "chat", messages: hello })) as { count: number };
    expect(usage.prompt_tokens).toBe(count);
    const run = open(chatModel, { threads: 1 });
    const [own] = await run.samples([hello as never], { tokens: 5, seed: 1, samples: 2, temperature: 1 });
    expect(choices.map(({ message }) => message.content)).toEqual(own.map(({ text }) => text));
  });

  it("is refused by the place of what is wrong", async () => {
    for (const [messages, param] of [
      [[], "messages"],
      ["hi", "messages"],
      [[{ role: "tool", content: "x" }], "messages.0.role"],
      [[...hello, { role: "user" }], "messages.1.content"],
      [[{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }], "messages.0.content"],
      [[{ role: "user", content: "x", tool_calls: [{ id: "a" }] }], "messages.0.tool_calls"],
      [[{ role: "user", content: "x", tool_call_id: "a" }], "messages.0.tool_call_id"],
    ] as const)
      expect(await wrongChat({ messages }), JSON.stringify(messages)).toMatchObject({ param });
    expect((await wrong("/v1/chat/completions", { model: "chat" })).param).toBe("messages");
    expect(await wrongChat({ top_logprobs: 2 })).toMatchObject({ param: "top_logprobs" });
  });
});

describe("fields", () => {
  it("that nothing here could do are refused by name, but for values that ask for nothing", async () => {
    for (const [path, refused, rest] of [
      ["/v1/completions", refusedCompletion, { model: "decoder", prompt: "the", max_tokens: 1 }],
      ["/v1/chat/completions", refusedChat, { model: "chat", messages: hello, max_tokens: 1 }],
    ] as const)
      for (const [name, usual] of Object.entries(refused)) {
        const sentence = `${name} is a field of OpenAI's API that is not supported here; leave it out`;
        expect(await wrong(path, { ...rest, [name]: "strange" })).toMatchObject({
          message: sentence,
          code: "unsupported_parameter",
          param: name,
        });
        for (const value of [null, ...usual]) await asked(path, { ...rest, [name]: value });
      }
  });

  it("that there are not are refused with what was perhaps meant", async () => {
    expect(await wrongCompletion({ temprature: 1 })).toEqual({
      message: 'temprature is no field that there is; did you mean "temperature"?',
      type: "invalid_request_error",
      param: "temprature",
      code: "unknown_parameter",
    });
    for (const [path, body] of Object.entries(smallest)) expect((await wrong(path, { ...body, zzz: 1 })).param, path).toBe("zzz");
    for (const name of ["__proto__", "constructor", "toString"])
      expect((await wrong("/v1/completions", `{"model": "decoder", "${name}": 1}`)).param, name).toBe(name);
  });

  it("may be null, which is as if they were left out", async () => {
    const { properties } = reference.bodies["/v1/completions"] as { properties: Readonly<Record<string, object>> };
    const nulls = Object.fromEntries(Object.keys(properties).map((name) => [name, null]));
    await complete({ ...nulls, model: "decoder", max_tokens: 1 });
    const ofChat = reference.bodies["/v1/chat/completions"] as { properties: Readonly<Record<string, object>> };
    await chat({
      ...Object.fromEntries(Object.keys(ofChat.properties).map((name) => [name, null])),
      model: "chat",
      messages: hello,
      max_tokens: 1,
    });
  });

  it.each(
    Object.entries({
      temperature: [
        [0, 2, 0.5],
        [-0.1, 2.1, "1", true, []],
      ],
      top_p: [
        [1, 0.5],
        [-1, 1.1, "a"],
      ],
      top_k: [
        [0, 1, 50],
        [-1, 1.5, 1e10, "a"],
      ],
      min_p: [
        [0, 0.5, 1],
        [-1, 2],
      ],
      n: [
        [1, 3],
        [0, 129, 1.5, "1"],
      ],
      seed: [
        [0, 12345678901234, Number.MAX_SAFE_INTEGER],
        [-1, 1.5, 2 ** 60, "1"],
      ],
      repetition_penalty: [
        [1, 1.3],
        [0, -1, 1001],
      ],
      presence_penalty: [[], [-2.1, 2.1, "a"]],
      frequency_penalty: [[], [-2.1, 2.1, "a"]],
      max_tokens: [
        [1, 5],
        [-1, 1.5, 1e7, "5"],
      ],
      logprobs: [
        [0, 5, 20],
        [-1, 21, true],
      ],
      echo: [
        [true, false],
        ["yes", 1],
      ],
      stream: [[false], ["yes", 1]],
      strict: [[true, false], [0]],
      user: [["somebody"], [1, "u".repeat(257)]],
      beams: [
        [1, 2],
        [0, 33, 1.5],
      ],
      model: [[], [3, []]],
    } satisfies Record<string, readonly [readonly unknown[], readonly unknown[]]>),
  )("%s takes what the reference says and nothing else", async (name, [right, bad]) => {
    for (const value of right) await complete({ max_tokens: 2, [name]: value });
    for (const value of bad) {
      expect(await wrongCompletion({ [name]: value }), JSON.stringify(value)).toMatchObject({ param: name, code: "invalid_value" });
      expect(reference.allows("/v1/completions", { [name]: value }), JSON.stringify(value)).toBe(false);
    }
  });

  it("that are wrong are said to be so in our words", async () => {
    for (const [body, message] of [
      [{ messages: undefined }, "messages: a list is wanted, not nothing"],
      [{ messages: [] }, "messages: at least 1 items are wanted"],
      [{ messages: ["Hello"] }, "messages.0: an object is wanted, not a text"],
      [{ stream: 3 }, "stream: true or false is wanted, not a number"],
      [{ logit_bias: { a: 3 } }, "logit_bias.a: the id of a token is wanted"],
      [{ logit_bias: { "04": 3 } }, "logit_bias.04: the id of a token is wanted"],
      [{ response_format: { type: "xml" } }, 'response_format.type: "text" or "json_object" or "json_schema" is wanted'],
      [{ response_format: { type: "json_schema" } }, "response_format.json_schema: an object is wanted, not nothing"],
      [{ user: "u".repeat(300) }, "user: at most 256 characters are wanted"],
      [{ model: null }, "model: a text is wanted, not null"],
    ] as const)
      expect((await wrongChat(body)).message).toBe(message);
    expect((await wrong("/v1/embeddings", { model: "embed", input: "a", pool: "max" })).message).toBe(
      'pool: "mean" or "class" or "last" is wanted, not "max"',
    );
  });

  it("ask for 128 texts at most", async () => {
    expect(await wrongCompletion({ prompt: Array(65).fill("a"), n: 2 })).toMatchObject({ param: "n" });
    const { choices } = await complete({ prompt: Array(64).fill("a"), n: 2, max_tokens: 1 });
    expect(choices.map(({ index }) => index)).toEqual([...Array(128).keys()]);
  });
});

/** The least that each route takes. */
const smallest = {
  "/v1/completions": { model: "decoder", prompt: "the", max_tokens: 1 },
  "/v1/chat/completions": { model: "chat", messages: hello, max_tokens: 1 },
  "/v1/embeddings": { model: "embed", input: "the cat" },
  "/v1/classify": { model: "classifier", input: "i am happy" },
  "/v1/tag": { model: "tagger", input: "the dog" },
  "/v1/fill": { model: "mlm", input: "the [MASK]" },
  "/v1/translate": { model: "translator", input: "number 1" },
  "/v1/look": { model: "decoder", text: "the cat" },
  "/tokenize": { model: "decoder", text: "the cat" },
  "/detokenize": { model: "decoder", tokens: [4] },
};

describe("every route", () => {
  it("is here", () => expect(Object.keys(reference.bodies).sort()).toEqual(Object.keys(smallest).sort()));

  it("wants a model that there is, and a model where there are several", async () => {
    for (const [path, body] of Object.entries(smallest)) {
      expect(await wrong(path, { ...body, model: "nobody" }, 404), path).toMatchObject({ code: "model_not_found", param: "model" });
      expect(await wrong(path, { ...body, model: undefined }), path).toMatchObject({ code: "model_missing", param: "model" });
    }
  });

  it("says of a model that cannot do it what it does", async () => {
    const cannot = {
      "/v1/completions": ["classifier", "embed"],
      "/v1/chat/completions": ["classifier", "embed"],
      "/v1/embeddings": ["decoder", "rnn", "translator", "chat"],
      "/v1/classify": ["decoder", "rnn", "translator", "embed"],
      "/v1/tag": ["decoder", "translator", "classifier"],
      "/v1/fill": ["decoder", "translator", "classifier"],
      "/v1/translate": ["decoder", "rnn", "classifier"],
      "/v1/look": ["rnn"],
    };
    for (const [path, models] of Object.entries(cannot))
      for (const model of models) {
        const { message, code } = await wrong(path, { ...smallest[path as keyof typeof smallest], model });
        expect([message.length > 20, code?.startsWith("config")], `${path} ${model} ${message}`).toEqual([true, true]);
      }
  });
});
