import { beforeAll, describe, expect, it } from "vitest";
import { Workplace } from "../support/command.ts";
import { hubModel, Served, trainSmall, within } from "../support/serve.ts";

// Requests that are made to hurt: each has an answer that is its own fault, and nobody else notices.

const place = new Workplace();
let served: Served;

beforeAll(async () => {
  await trainSmall(place, "decoder", "rnn");
  served = await Served.start(place, ["decoder", "rnn", `mlm=${hubModel("bert-mlm")}`]);
});

const chat = (more: string) => `{"model":"decoder","messages":[{"role":"user","content":"the"}],${more}}`;
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const bad = (count: number) => `[${"0.5,".repeat(count - 1)}0.5]`;

describe("a body", () => {
  it.each([
    ["with a field that nests without end", "/v1/chat/completions", chat(`"tools":${nested(100_000)}`)],
    [
      "with a schema that nests without end",
      "/v1/chat/completions",
      chat(`"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"x":${nested(50_000)}}}}`),
    ],
    ["with a name of megabytes", "/v1/completions", JSON.stringify({ prompt: "a", ["x".repeat(3_000_000)]: 1 })],
    ["with two hundred thousand mistakes", "/detokenize", `{"model":"decoder","tokens":${bad(200_000)}}`],
    ["with as many of them in a list of prompts", "/v1/completions", `{"model":"decoder","prompt":[${bad(200_000)}]}`],
    ["with parts without end", "/v1/chat/completions", `{"model":"decoder","messages":[{"role":"user","content":${bad(200_000)}}]}`],
    [
      "with a bias for everything",
      "/v1/completions",
      JSON.stringify({ model: "decoder", prompt: "a", logit_bias: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [i, 1])) }),
    ],
    [
      "with a property of twenty thousand letters",
      "/v1/chat/completions",
      chat(
        `"response_format":${JSON.stringify({ type: "json_schema", json_schema: { name: "a", schema: { type: "object", properties: { ["n".repeat(20_000)]: { type: "string" } }, additionalProperties: true } } })}`,
      ),
    ],
    [
      "with more beams than there is room for",
      "/v1/completions",
      JSON.stringify({ model: "decoder", prompt: Array(128).fill("a"), beams: 32 }),
    ],
    [
      "with a prompt without end for many texts",
      "/v1/completions",
      JSON.stringify({ model: "rnn", prompt: Array(50_000).fill(5), n: 128, max_tokens: 1 }),
    ],
    [
      "with a prompt to be scored that is too long",
      "/v1/completions",
      JSON.stringify({ model: "rnn", prompt: "the ".repeat(250_000), echo: true, logprobs: 1 }),
    ],
    [
      "with many prompts that are told again with scores",
      "/v1/completions",
      JSON.stringify({ model: "rnn", prompt: Array(16).fill("the cat sat on the mat ".repeat(10)), n: 8, echo: true, logprobs: 20 }),
    ],
    [
      "with scores of more tokens than one answer holds",
      "/v1/completions",
      JSON.stringify({ model: "decoder", prompt: "the", n: 64, max_tokens: 1024, logprobs: 20 }),
    ],
    ["with masks without end", "/v1/fill", JSON.stringify({ model: "mlm", input: Array(2048).fill("[MASK] ".repeat(30)), top: 100 })],
  ])("%s is refused, while others go on", async (_, path, body) => {
    const response = await served.post(path, body);
    const { error } = await response.json();
    expect(response.status, error?.message?.slice(0, 300)).toBe(400);
    expect(error.message.length).toBeLessThan(1000);
    expect((await served.post("/v1/completions", { model: "decoder", prompt: "the", max_tokens: 2 })).status).toBe(200);
  });
});

it("what is never written is not written, whatever its bias", async () => {
  const answer = await served.post("/v1/completions", {
    model: "decoder",
    prompt: "the",
    max_tokens: 8,
    logit_bias: { "0": 100, "1": 100 },
    logprobs: 0,
  });
  const [{ logprobs }] = (await answer.json()).choices;
  for (const token of logprobs.tokens) expect(["<unk>", "<s>"]).not.toContain(token);
});

it("beams are searched for one request after the other, each as it would be alone", async () => {
  const body = { model: "decoder", prompt: ["the", "a", "cat"], beams: 8, n: 2, max_tokens: 12 };
  const texts = async () => (await (await served.post("/v1/completions", body)).json()).choices.map(({ text }: { text: string }) => text);
  const alone = await texts();
  for (const found of await Promise.all(Array.from({ length: 6 }, texts))) expect(found).toEqual(alone);
});

it("pages that are let in may ask whether they may, without the key that they ask with", async () => {
  const other = await Served.start(place, ["decoder", "--api-key", "secret", "--cors", "https://page.example.com"]);
  const headers = {
    Origin: "https://page.example.com",
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization",
  };
  const asked = await other.fetch("/v1/completions", { method: "OPTIONS", headers });
  expect([asked.status, asked.headers.get("access-control-allow-origin")]).toEqual([204, "https://page.example.com"]);
  expect(
    (await other.fetch("/v1/completions", { method: "OPTIONS", headers: { ...headers, Origin: "https://else.example.com" } })).status,
  ).toBe(403);
  expect((await other.post("/v1/completions", { prompt: "a" }, { Origin: "https://page.example.com" })).status).toBe(401);
});

it("nothing is left of all that", async () => {
  expect(await within(5000, async () => (await served.metric("qkv_requests_running")) === 0)).toBe(true);
  expect(await served.metric("qkv_model_crashes")).toBe(0);
  expect(served.log.filter(({ event }) => event === "error")).toEqual([]);
  expect(await served.stop()).toBe(0);
});
