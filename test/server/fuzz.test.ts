import { connect } from "node:net";
import fc, { type Arbitrary } from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { refusedChat, refusedCompletion } from "../../src/server/requests.ts";
import { Workplace } from "../support/command.ts";
import { type JsonSchema, Reference } from "../support/openapi.ts";
import { Served, trainSmall, within } from "../support/serve.ts";

// Requests that nobody would write: right by the reference, nearly right, and not even HTTP. No answer is a fault of the server, every
// answer has the shape that the reference promises, and at the end the server is there and has nothing to do.

const place = new Workplace();
let served: Served;
let reference: Reference;

beforeAll(async () => {
  await trainSmall(place, "decoder");
  served = await Served.start(place, ["decoder"]);
  reference = await Reference.of(served);
});

const times = Number(process.env.QKV_FUZZ ?? 700);
const atOnce = 8;

const text = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom("the cat", "a mat, line 7", "", " ", "the the the the the the the the the the the the the the the the the"),
  },
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom(
    "\ud800",
    "a\udfffb",
    "\u0000",
    "\ufeff",
    "__proto__",
    "constructor",
    "toString",
    "<|endoftext|>",
    "</s>",
    "<s>",
    "{{7*7}}",
    "\r\ndata: x\r\n\r\n",
  ),
);

/** Values that a JSON schema allows: the words of it that our reference has. Numbers of tokens and texts stay small. */
function allowed(schema: JsonSchema, name = ""): Arbitrary<unknown> {
  if ("const" in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
  if (Array.isArray(schema.anyOf)) return fc.oneof(...(schema.anyOf as JsonSchema[]).map((one) => allowed(one, name)));
  if (Array.isArray(schema.oneOf)) return fc.oneof(...(schema.oneOf as JsonSchema[]).map((one) => allowed(one, name)));
  if (Array.isArray(schema.type)) return fc.oneof(...(schema.type as string[]).map((type) => allowed({ ...schema, type }, name)));
  const { minimum = -1e6, maximum = 1e6 } = schema as { minimum?: number; maximum?: number };
  const most = Math.min(maximum, /max_.*tokens|^n$|^beams$/.test(name) ? 3 : maximum);
  switch (schema.type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.oneof(
        { weight: 5, arbitrary: fc.integer({ min: minimum, max: Math.min(most, minimum + 40) }) },
        fc.constantFrom(minimum, most),
      );
    case "number":
      return fc.oneof(fc.double({ min: minimum, max: most, noNaN: true }), fc.constantFrom(minimum, most));
    case "string": {
      if (typeof schema.pattern === "string") return fc.stringMatching(new RegExp(schema.pattern));
      const { minLength = 0, maxLength = 1e6 } = schema as { minLength?: number; maxLength?: number };
      return name === "model" ? fc.constant("decoder") : text.filter(({ length }) => length >= minLength && length <= maxLength);
    }
    case "array": {
      const { minItems = 0, maxItems = 4 } = schema as { minItems?: number; maxItems?: number };
      return fc.array(allowed(schema.items as JsonSchema, name), { minLength: minItems, maxLength: Math.min(maxItems, minItems + 3) });
    }
    case "object": {
      const { properties = {}, required = [] } = schema as { properties?: Record<string, JsonSchema>; required?: string[] };
      const names = Object.keys(properties);
      if (names.length > 0) {
        const fields = Object.fromEntries(names.map((key) => [key, allowed(properties[key], key)]));
        // A few fields at a time: with all of them, every request would have a conflict.
        return fc.subarray(names, { maxLength: Math.min(5, names.length) }).chain((some) => {
          const chosen = new Set([...required, ...some, ...names.filter((key) => key === "max_tokens")]);
          return fc.record(Object.fromEntries([...chosen].map((key) => [key, fields[key]])));
        });
      }
      const keys = schema.propertyNames ? allowed(schema.propertyNames as JsonSchema) : text;
      const values = typeof schema.additionalProperties === "object" ? allowed(schema.additionalProperties as JsonSchema) : fc.jsonValue();
      return fc.dictionary(keys as Arbitrary<string>, values, { maxKeys: 3 });
    }
    default:
      return fc.jsonValue();
  }
}

/** What should not be there. */
const strange: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, true, [], {}, "", -1, 0.5, 1e308, -1e308, 2 ** 53, 1e21, 5e-324, "1", "NaN", [null], [[[]]], { a: { a: {} } }),
  text,
  fc.jsonValue({ maxDepth: 5 }),
  fc.integer({ min: 1, max: 2000 }).map((depth) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`)),
);
const names = fc.oneof(
  fc.constantFrom(
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "length",
    "",
    "tools",
    "echo",
    "suffix",
    "best_of",
    "temprature",
    "model ",
  ),
  text,
);

/** One thing is changed somewhere: a field is replaced, added or left out. */
function mutated(body: unknown): Arbitrary<unknown> {
  if (typeof body !== "object" || body === null) return strange;
  const keys = Object.keys(body);
  const put = (key: string, value: unknown) =>
    Array.isArray(body) ? body.map((old, i) => (`${i}` === key ? value : old)) : withField(body, key, value);
  const change = keys.length === 0 ? [] : [fc.tuple(fc.constantFrom(...keys), strange).map(([key, value]) => put(key, value))];
  const inside = keys.filter((key) => typeof body[key as keyof typeof body] === "object" && body[key as keyof typeof body] !== null);
  const deeper = inside.map((key) => mutated(body[key as keyof typeof body]).map((value) => put(key, value)));
  return fc.oneof(
    strange,
    { weight: 4, arbitrary: fc.tuple(names, strange).map(([key, value]) => withField(body, key, value)) },
    ...change.map((arbitrary) => ({ weight: 6, arbitrary })),
    ...deeper.map((arbitrary) => ({ weight: 3, arbitrary })),
  );
}

/** With a field of its own, also where it is called __proto__. */
function withField(body: object, key: string, value: unknown): object {
  const copy = { ...body };
  Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  return copy;
}

/** Sends them all, some at a time, and looks at each answer. */
async function judged(
  path: string,
  bodies: readonly unknown[],
  judge: (status: number, body: unknown, value: unknown) => void = () => {},
): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  const left = [...bodies];
  const one = async () => {
    for (let body = left.pop(); body !== undefined; body = left.pop()) {
      const sent = JSON.stringify(body);
      const response = await served.post(path, sent);
      expect(response.status, `${path} ${sent.slice(0, 2000)}`).toBeLessThan(500);
      const streamed = response.headers.get("content-type")?.startsWith("text/event-stream");
      const value = streamed ? await events(response, sent) : await reference.checked(path, response);
      judge(response.status, body, value);
      counts.set(response.status, (counts.get(response.status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return counts;
}

/** A stream is whole, or says that it is not. */
async function events(response: Response, sent: string): Promise<void> {
  const all = (await response.text()).split("\n\n");
  expect(all.pop()).toBe("");
  expect(all.at(-1), sent).toBe("data: [DONE]");
  for (const event of all.slice(0, -1)) expect(JSON.parse(event.replace(/^data: /, ""))).toHaveProperty("choices");
}

const paths = [
  "/v1/completions",
  "/v1/chat/completions",
  "/v1/embeddings",
  "/v1/classify",
  "/v1/tag",
  "/v1/fill",
  "/v1/translate",
  "/v1/look",
  "/tokenize",
  "/detokenize",
];
const seed = process.env.QKV_FUZZ === undefined ? { seed: 2017 } : {};
/** The writing routes, which take most, are asked most. */
const share = (path: string): number => Math.ceil(times * (path.endsWith("completions") ? 0.3 : path === "/v1/look" ? 0.2 : 0.1));

/** Without fields of OpenAI's that are let through because they ask for nothing; the reference does not have them. */
function asking(path: string, body: object): object {
  const refused = path === "/v1/completions" ? refusedCompletion : path === "/v1/chat/completions" ? refusedChat : {};
  return Object.fromEntries(Object.entries(body).filter(([name]) => !Object.hasOwn(refused, name)));
}

describe("bodies", () => {
  it.each(paths)("that %s allows are answered, or refused with a reason", async (path) => {
    const bodies = fc.sample(allowed(reference.bodies[path]), { numRuns: share(path), ...seed });
    const counts = await judged(path, bodies, (status, body) => {
      expect([200, 400], JSON.stringify(body)).toContain(status);
      if (status === 200) expect(reference.allows(path, JSON.parse(JSON.stringify(body))), JSON.stringify(body)).toBe(true);
    });
    if (!["/v1/classify", "/v1/tag", "/v1/fill", "/v1/translate"].includes(path)) expect(counts.get(200)).toBeGreaterThan(0);
  });

  it.each(paths)("that %s does not allow are refused as OpenAI does", async (path) => {
    const bodies = fc.sample(allowed(reference.bodies[path]).chain(mutated), { numRuns: share(path), ...seed });
    await judged(path, bodies, (status, body, value) => {
      const sent = JSON.stringify(body);
      if (status === 200) expect(reference.allows(path, asking(path, JSON.parse(sent))), sent).toBe(true);
      else expect((value as { error: { message: string } }).error.message.length, sent).toBeGreaterThan(5);
    });
  });

  it("that are any bytes are refused", async () => {
    const sent = fc.sample(fc.uint8Array({ maxLength: 60 }), { numRuns: Math.ceil(times * 0.1), ...seed });
    for (const bytes of sent) {
      const response = await served.fetch("/v1/completions", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: bytes as Uint8Array<ArrayBuffer>,
      });
      expect(response.status).toBe(400);
      await reference.checked("/v1/completions", response);
    }
  });
});

/** What comes back for bytes on a connection, until it is closed, nothing more comes, or it was enough. */
function raw(bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(served.port, "127.0.0.1", () => socket.write(bytes));
    const done = () => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(40, done);
    setTimeout(done, 200); // whoever sends on and on is left
    socket.on("data", (part) => {
      answer += part.toString("latin1");
    });
    socket.on("error", done).on("close", done);
  });
}

const token = fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 20 });
const line = fc.oneof(
  fc.constantFrom(
    "Host: localhost",
    "Host: localhost",
    "Content-Type: application/json",
    "Content-Length: 2",
    "Content-Length: -1",
    "Content-Length: 99999999999999999999",
    "Content-Length: 1, 2",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Connection: close",
    "Expect: 100-continue",
    "Upgrade: h2c",
    "Origin: null",
    "Authorization: Bearer",
    "Cookie: a=b; c",
    ": empty",
    "no colon",
    " folded",
    "X: \u0001",
    "Host: a, b",
  ),
  fc.tuple(token, token).map(([name, value]) => `${name}: ${value}`),
  fc.integer({ min: 1, max: 30_000 }).map((length) => `X-Long: ${"x".repeat(length)}`),
);
const first = fc.oneof(
  fc.constantFrom(
    "GET /health HTTP/1.1",
    "POST /v1/completions HTTP/1.1",
    "POST /v1/completions HTTP/1.0",
    "GET /v1/models/%ff HTTP/1.1",
    "OPTIONS * HTTP/1.1",
    "GET http://[ HTTP/1.1",
    "GET \\ HTTP/1.1",
    "CONNECT a:1 HTTP/1.1",
    "PRI * HTTP/2.0",
    "GET / HTTP/9.9",
    "TRACE / HTTP/1.1",
    "",
    "GET",
  ),
  token.map((path) => `GET /${path} HTTP/1.1`),
  token,
);
const body = fc.oneof(
  fc.constantFrom(
    "",
    "{}",
    "2\r\n{}\r\n0\r\n\r\n",
    "zz\r\n{}\r\n",
    "-1\r\n",
    "ffffffffffffffffff\r\n{",
    "2\r\n{}",
    '{"prompt": "the", "max_tokens": 1}',
  ),
  token,
);

describe("connections", () => {
  it("on which anything comes are answered with at most a 4xx, and others are answered all the while", async () => {
    const requests = fc.sample(
      fc.tuple(
        first,
        fc.array(line, { maxLength: 6 }),
        fc.constantFrom("\r\n", "\r\n", "\n"),
        body,
        fc.double({ min: 0, max: 1, noNaN: true }),
      ),
      {
        numRuns: Math.ceil(times * 0.3),
        ...seed,
      },
    );
    const left = [...requests];
    const one = async () => {
      for (let next = left.pop(); next; next = left.pop()) {
        const [start, lines, end, rest, part] = next;
        const whole = [start, ...lines, "", rest].join(end);
        const sent = part < 0.3 ? whole.slice(0, Math.ceil(part * 3 * whole.length)) : whole;
        for (const [, status] of (await raw(sent)).matchAll(/^HTTP\/1\.1 (\d{3})/gm))
          expect(Number(status), JSON.stringify(sent)).toBeLessThan(500);
      }
    };
    await Promise.all([...Array.from({ length: atOnce }, one), alive()]);
  });

  /** Somebody else asks in the meantime. */
  async function alive(): Promise<void> {
    for (let i = 0; i < 20; i++) expect((await served.post("/v1/completions", { prompt: "the", max_tokens: 2 })).status).toBe(200);
  }

  it("that break off in the middle of a body, or do not wait for the answer, leave nothing behind", async () => {
    const sent = JSON.stringify({ prompt: "the cat", max_tokens: 5000, stream: true, n: 4, logit_bias: { 1: -100, 2: -100 } });
    const head = `POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${sent.length}\r\n\r\n`;
    await Promise.all(Array.from({ length: 20 }, (_, i) => raw(`${head}${i % 2 ? sent : sent.slice(0, 30)}`)));
    expect(await within(2000, async () => (await served.metric("qkv_requests_running")) === 0)).toBe(true);
  });
});

describe("at the end", () => {
  it("the server is there, has nothing to do, and was never at a loss", async () => {
    expect(await within(2000, async () => (await served.metric("qkv_requests_running")) === 0)).toBe(true);
    expect(await served.metric("qkv_requests_waiting")).toBe(0);
    expect(await served.metric("qkv_model_crashes")).toBe(0);
    expect(served.log.filter(({ event }) => event === "error" || event === "ended")).toEqual([]);
    expect(served.requests.filter(({ status }) => status >= 500)).toEqual([]);
    expect(served.requests.length).toBeGreaterThan(2000);
    const { pid } = served;
    expect(() => process.kill(pid, 0)).not.toThrow();
  });
});
