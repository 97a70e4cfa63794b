import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { errorSchema } from "../../src/server/errors.ts";
import { expectRefusal, Workplace } from "../support/command.ts";
import { Reference } from "../support/openapi.ts";
import { Served, trainSmall } from "../support/serve.ts";

// What comes before any question: methods, paths, bodies, names, origins and keys.

const place = new Workplace();
let served: Served;

beforeAll(async () => {
  await trainSmall(place, "decoder");
  const flags = ["--allow-host", "models.example.com", "--cors", "https://page.example.com", "--log-texts"];
  served = await Served.start(place, ["decoder", ...flags]);
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A request with any headers, also those that browsers and fetch keep for themselves. */
function send(
  path: string,
  {
    method = "GET",
    headers = {},
    body,
    to = served,
  }: { method?: string; headers?: Record<string, string>; body?: string | Uint8Array; to?: Served } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: "127.0.0.1", port: to.port, path, method, headers, agent: false }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(parts).toString() }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
const json = { "Content-Type": "application/json" };
const small = JSON.stringify({ prompt: "the", max_tokens: 1 });
const post = (body: string | Uint8Array, headers: Record<string, string> = json) =>
  send("/v1/completions", { method: "POST", headers, body });

/** An error in OpenAI's form, with this status. */
function refused({ status, text, headers }: Answer, expected: number): { message: string; code: string | null } {
  expect(status, text).toBe(expected);
  expect(headers["content-type"]).toBe("application/json");
  return errorSchema.strict().parse(JSON.parse(text)).error;
}

describe("a body", () => {
  it("is JSON, said to be JSON", async () => {
    expect((await post(small)).status).toBe(200);
    expect((await post(small, { "Content-Type": "Application/JSON; charset=utf-8" })).status).toBe(200);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx"])
      expect(refused(await post(small, { "Content-Type": type }), 415).code).toBe("content_type");
    expect(refused(await post(small, {}), 415).message).toContain("not none");
  });

  it("that is broken is a 400 that says where", async () => {
    for (const body of ["", "{", "{'a': 1}", '{"prompt": NaN}', `${small} ${small}`, "\ufeff"])
      expect(refused(await post(body), 400), body).toMatchObject({ code: "json" });
    for (const body of ["null", "3", '"text"', "[]", "true"]) expect(refused(await post(body), 400).message, body).toMatch(/^the body: /);
    expect(refused(await post(Uint8Array.of(0x7b, 0xff, 0xfe, 0x7d)), 400)).toMatchObject({
      message: "the body is not UTF-8",
      code: "body",
    });
    expect(refused(await post(Buffer.from('{"prompt": "\xe4"}', "latin1")), 400).code).toBe("body");
  });

  it("that is too large is a 413, whether its length is said or not", async () => {
    const large = JSON.stringify({ prompt: "a".repeat(5 * 2 ** 20) });
    expect(refused(await post(large), 413).code).toBe("body_too_large");
    expect(refused(await post(large, { ...json, "Transfer-Encoding": "chunked" }), 413).code).toBe("body_too_large");
    expect((await send("/health")).status).toBe(200);
  });

  it("of any nesting does not tear the server down", async () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ])
      refused(await post(`{"prompt": ${open.repeat(100_000)}1${close.repeat(100_000)}}`), 400);
  });
});

it("a field that every object has is none of OpenAI's", async () => {
  const answer = await post(JSON.stringify({ prompt: "the", constructor: 1 }));
  expect(refused(answer, 400)).toMatchObject({ code: "unknown_parameter" });
});

it("a stream for a client that knows no chunks comes without them", async () => {
  const body = JSON.stringify({ prompt: "the", max_tokens: 2, stream: true });
  const text = await new Promise<string>((resolve, reject) => {
    let found = "";
    const socket = connect(served.port, "127.0.0.1", () =>
      socket.write(`POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    );
    socket.on("data", (more) => {
      found += more;
    });
    socket.on("end", () => resolve(found)).on("error", reject);
  });
  const [head, ...events] = text.split("\r\n\r\n");
  expect(head.toLowerCase()).not.toContain("chunked");
  expect(events.join("")).toMatch(/^data: \{.*\n\ndata: \[DONE\]\n\n$/s);
});

describe("methods and paths", () => {
  it("that there are not", async () => {
    for (const path of ["/v1", "/v1/", "/v1/completions/", "/v2/completions", "/v1/chat", "/%2e%2e/etc/passwd", "/%", "//", "/v1/%00"])
      expect(refused(await send(path), 404).code, path).toBe("not_found");
    expect(refused(await send("/v1/models/nobody"), 404).code).toBe("model_not_found");
    expect(refused(await send("/v1/models/a%2Fb%20c"), 404).message).toContain('"a/b c"');
  });

  it("that do not go together are a 405 that names those that do", async () => {
    for (const path of Object.keys((await Reference.of(served)).bodies))
      for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE"]) {
        const answer = await send(path, { method });
        expect([answer.status, answer.headers.allow], `${method} ${path}`).toEqual([405, "POST"]);
      }
    for (const path of ["/health", "/v1/models", "/v1/models/decoder", "/metrics", "/openapi.json", "/"])
      for (const method of ["POST", "PUT", "DELETE"]) {
        const answer = await send(path, { method });
        expect([answer.status, answer.headers.allow], `${method} ${path}`).toEqual([405, "GET, HEAD"]);
        refused(answer, 405);
      }
  });

  it("HEAD is GET without a body", async () => {
    for (const path of ["/health", "/v1/models", "/v1/models/decoder", "/metrics", "/openapi.json", "/"]) {
      const [head, get] = [await send(path, { method: "HEAD" }), await send(path)];
      expect([head.status, head.text, get.status], path).toEqual([200, "", 200]);
      expect(head.headers["content-type"], path).toBe(get.headers["content-type"]);
    }
  });

  it("GET have the shapes that the reference promises", async () => {
    const reference = await Reference.of(served);
    for (const [path, { get }] of Object.entries(reference.paths)) {
      if (!get) continue;
      const response = await served.fetch(path.replace("{id}", "decoder"));
      expect(response.status, path).toBe(200);
      await reference.checked(path, response, "get");
      for (const [name, value] of Object.entries({
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
      }))
        expect(response.headers.get(name), path).toBe(value);
    }
  });

  it("/metrics is what Prometheus reads", async () => {
    const text = await (await served.fetch("/metrics")).text();
    for (const line of text.trimEnd().split("\n"))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [-+\d.e]+)$/);
    expect(text).toContain('qkv_requests_total{path="",status="404"}');
    expect(await served.metric("qkv_requests_running")).toBe(0);
  });

  it("are in the log, with texts only where that was asked for", async () => {
    await served.post("/v1/completions", { prompt: "the mat", max_tokens: 2, user: "door" });
    const line = served.requests.find(({ user }) => user === "door");
    expect(line).toMatchObject({
      method: "POST",
      path: "/v1/completions",
      status: 200,
      model: "decoder",
      promptTokens: 7,
      text: { prompt: ["the mat"] },
    });
  });
});

describe("names", () => {
  it("are those that were given, or addresses", async () => {
    for (const host of [
      "localhost",
      `localhost:${served.port}`,
      "LOCALHOST",
      "127.0.0.1",
      "[::1]:80",
      "models.example.com",
      "192.168.1.7:8080",
    ])
      expect((await send("/health", { headers: { Host: host } })).status, host).toBe(200);
    for (const host of ["evil.com", "localhost.evil.com", "models.example.com.evil.com"])
      expect(refused(await send("/health", { headers: { Host: host } }), 403).code, host).toBe("host");
    for (const host of ["a b", "x@localhost", "localhost:99999", "localhost/x", "[::1", "ex%41"])
      expect(refused(await send("/health", { headers: { Host: host } }), 400).code, host).toBe("address");
  });
});

describe("pages", () => {
  const preflight = (origin: string) =>
    send("/v1/completions", { method: "OPTIONS", headers: { Origin: origin, "Access-Control-Request-Method": "POST" } });

  it("of a named origin may ask", async () => {
    const origin = "https://page.example.com";
    const asked = await post(small, { ...json, Origin: origin });
    expect([asked.status, asked.headers["access-control-allow-origin"], asked.headers.vary]).toEqual([200, origin, "Origin"]);
    const before = await preflight(origin);
    expect([before.status, before.headers["access-control-allow-origin"]]).toEqual([204, origin]);
    expect(before.headers["access-control-allow-headers"]).toContain("authorization");
    const wrong = await post("{", { ...json, Origin: origin });
    expect([wrong.status, wrong.headers["access-control-allow-origin"]]).toEqual([400, origin]);
  });

  it("of the server itself too", async () => {
    const own = { Origin: `http://127.0.0.1:${served.port}` };
    const asked = await post(small, { ...json, ...own });
    expect([asked.status, asked.headers["access-control-allow-origin"]]).toEqual([200, undefined]);
  });

  it("of others are turned away, and never told that they may", async () => {
    for (const origin of [
      "https://evil.com",
      "null",
      "http://page.example.com",
      "https://page.example.com.evil.com",
      "http://localhost:1",
      "*",
      "x",
    ])
      for (const answer of [
        await post(small, { ...json, Origin: origin }),
        await preflight(origin),
        await send("/health", { headers: { Origin: origin } }),
      ]) {
        expect(refused(answer, 403).code, origin).toBe("origin");
        expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
      }
  });
});

describe("a key", () => {
  const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString("base64")}` });

  it("is wanted everywhere but for /health, as Bearer or as a password", async () => {
    place.write("key", "sk-from-a-file\r\nsecond line\n");
    const secured = await Served.start(place, ["decoder", "--api-key-file", "key"]);
    const status = async (path: string, headers: Record<string, string>) => (await send(path, { headers, to: secured })).status;
    for (const headers of [
      { Authorization: "Bearer sk-from-a-file" },
      { Authorization: "bearer  sk-from-a-file" },
      basic("me:sk-from-a-file"),
      basic(":sk-from-a-file"),
    ])
      expect(await status("/v1/models", headers)).toBe(200);
    const wrong = [
      {},
      { Authorization: "sk-from-a-file" },
      { Authorization: "Bearer" },
      { Authorization: "Bearer sk-from-a-fil" },
      { Authorization: "Bearer second line" },
      basic("sk-from-a-file:"),
      { Authorization: "Basic !!!" },
    ];
    for (const headers of wrong as Record<string, string>[])
      for (const path of ["/v1/models", "/", "/metrics", "/openapi.json", "/nothing", "/v1/completions"]) {
        const answer = await send(path, { headers, to: secured });
        expect(refused(answer, 401).code, path).toBe("invalid_api_key");
        expect(answer.headers["www-authenticate"]).toBe("Bearer");
      }
    expect(await status("/health", {})).toBe(200);
    const person = await send("/", { headers: { Accept: "text/html" }, to: secured });
    expect(person.headers["www-authenticate"]).toMatch(/^Basic /);
    const reference = await Reference.of(secured, { Authorization: "Bearer sk-from-a-file" });
    expect(reference.paths["/v1/completions"]).toBeDefined();
    expect(await secured.stop()).toBe(0);
  });

  it("is wanted by whoever lets others in", async () => {
    expectRefusal(
      await place.qkv("serve", "decoder", "--host", "0.0.0.0", "--port", "0"),
      2,
      /--host 0\.0\.0\.0 lets others in, so an API key is wanted/,
    );
    expectRefusal(await place.qkv("serve", "decoder", "--host", "::", "--port", "0"), 2, /an API key is wanted/);
    const all = await Served.start(place, ["decoder", "--host", "0.0.0.0"], { QKV_API_KEY: "sk-from-the-environment" });
    const ask = (key: string) => send("/v1/models", { to: all, headers: { Authorization: `Bearer ${key}` } });
    expect((await ask("sk-from-the-environment")).status).toBe(200);
    expect((await ask("other")).status).toBe(401);
  });

  it("that is none is refused with a sentence", async () => {
    expectRefusal(
      await place.qkv("serve", "decoder", "--api-key", "two words", "--port", "0"),
      2,
      /an API key is made of letters, digits and signs/,
    );
    place.write("empty", "\n");
    expectRefusal(await place.qkv("serve", "decoder", "--api-key-file", "empty", "--port", "0"), 2, /an API key is made of/);
    expectRefusal(await place.qkv("serve", "decoder", "--api-key-file", "nowhere", "--port", "0"), 1, /the API key could not be read/);
    expectRefusal(await place.qkv("serve", "decoder", "--api-key-file", "key", "--api-key", "k", "--port", "0"), 2, /give one of them/);
  });
});

describe("starting", () => {
  it("says what is wrong with a model, a port or a name", async () => {
    expectRefusal(await place.qkv("serve", "nowhere", "--port", "0"), 1, /nowhere/);
    expectRefusal(await place.qkv("serve", "decoder", "decoder", "--port", "0"), 2, /two models would be called decoder/);
    expectRefusal(
      await place.qkv("serve", "decoder", "--port", String(served.port)),
      1,
      /another program listens there; choose another --port/,
    );
    expectRefusal(
      await place.qkv("serve", "decoder", "--port", "70000"),
      2,
      /--port: a whole number from 0 to 65,535 is wanted, not 70000/,
    );
  });

  it("refuses limits, names and origins that could never be met", async () => {
    for (const flag of ["--watchdog", "--queue-seconds", "--request-seconds", "--read-seconds"])
      expectRefusal(await place.qkv("serve", "decoder", flag, "0"), 2, /a number above 0 is wanted/);
    for (const origin of ["*", "https://page.example.com/", "page.example.com"])
      expectRefusal(await place.qkv("serve", "decoder", "--cors", origin), 2, /--cors: an origin is wanted/);
    for (const name of ["models.example.com:443", "https://models.example.com", ""])
      expectRefusal(await place.qkv("serve", "decoder", "--allow-host", name), 2, /--allow-host: a name is wanted/);
  });

  it("takes limits that no timer counts to for no limits", async () => {
    const patient = await Served.start(place, ["decoder", "--request-seconds", "3000000", "--queue-seconds", "3000000"]);
    expect((await patient.post("/v1/completions", { prompt: "the", max_tokens: 4 })).status).toBe(200);
    expect(await patient.stop()).toBe(0);
  });

  it("and stopping end with 0, and what is being written is ended in time", async () => {
    const other = await Served.start(place, ["decoder", "--grace", "0.2"]);
    const stream = await other.post("/v1/completions", {
      prompt: "the",
      max_tokens: 100_000,
      stream: true,
      logit_bias: { 1: -100, 2: -100 },
    });
    const stopped = other.stop();
    const text = await stream.text();
    expect(text).not.toContain("[DONE]");
    expect(text).toContain('"code":"stopping"');
    expect(await stopped).toBe(0);
  });
});
