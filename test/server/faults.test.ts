import { execFileSync } from "node:child_process";
import { closeSync, cpSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import type { ModelEvent } from "../../src/processes/models.ts";
import { expectRefusal, Workplace } from "../support/command.ts";
import { minilm, Served, trainSmall, within } from "../support/serve.ts";

// What goes wrong, and what everybody is told then.

const place = new Workplace();
beforeAll(() => trainSmall(place, "decoder", "classifier"));

const json = { "Content-Type": "application/json" };
/** It has no end: the token that would be one, the third of a vocabulary of characters, is forbidden. */
const long = { prompt: "the", max_tokens: 1_000_000, stream: true, temperature: 1, seed: 1, logit_bias: { "2": -100 } };

/** The process that computes a model, by what the log says of it. */
function pidOf(served: Served, model: string): number {
  const ready = served.log.filter((line) => line.event === "ready" && line.model === model).at(-1) as ModelEvent | undefined;
  if (!ready?.pid) throw new Error(`${model} is not ready`);
  return ready.pid;
}

/** A stream, read to its end as a raw client does. */
class Reading {
  text = "";
  readonly ended: Promise<"end" | "broken">;
  readonly #stop = new AbortController();

  constructor(served: Served, body: object) {
    this.ended = this.#read(served, body);
  }

  async #read(served: Served, body: object): Promise<"end" | "broken"> {
    try {
      const response = await served.fetch("/v1/completions", {
        method: "POST",
        headers: json,
        body: JSON.stringify(body),
        signal: this.#stop.signal,
      });
      if (!response.body) throw new Error("no body");
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) this.text += chunk;
      return "end";
    } catch {
      return "broken";
    }
  }

  /** Waits for some of it. */
  async begun(): Promise<void> {
    expect(await within(20_000, () => this.text.split("data: ").length > 3)).toBe(true);
  }

  leave(): void {
    this.#stop.abort();
  }

  /** Nobody may take it for a whole answer. */
  expectError(code: string): void {
    expect(this.text).not.toContain("[DONE]");
    expect(JSON.parse(this.text.trim().split("\n\n").at(-1)?.slice("data: ".length) ?? "").error.code).toBe(code);
  }
}

const answers = async (served: Served, body: object = {}) =>
  (await served.post("/v1/completions", { prompt: "the", max_tokens: 4, ...body })).status;

describe("a process that computes", () => {
  it("is killed: its streams end with an error, others do not notice, and it is started again", async () => {
    const served = await Served.start(place, ["decoder", "other=decoder"]);
    const [mine, others] = [new Reading(served, { ...long, model: "decoder" }), new Reading(served, { ...long, model: "other" })];
    await mine.begun();
    await others.begun();
    const whole = served.post("/v1/completions", { ...long, stream: false, model: "decoder" });
    await within(5000, async () => (await served.metric("qkv_requests_running")) === 3);
    process.kill(pidOf(served, "decoder"), "SIGKILL");
    expect(await mine.ended).toBe("end");
    mine.expectError("model_crashed");
    const refused = await whole;
    expect([refused.status, refused.headers.get("retry-after"), (await refused.json()).error.code]).toEqual([503, "1", "model_crashed"]);
    expect(await within(20_000, async () => (await answers(served, { model: "decoder" })) === 200)).toBe(true);
    expect(others.text).not.toContain('"error"');
    others.leave();
    expect(await within(5000, async () => (await served.metric("qkv_requests_running")) === 0)).toBe(true);
    expect(await served.metric("qkv_model_crashes")).toBe(1);
    expect(await served.stop()).toBe(0);
  });

  it("hangs: it is ended after the time that it has, and its requests are told so", async () => {
    const served = await Served.start(place, ["decoder", "--watchdog", "2"]);
    const mine = new Reading(served, long);
    await mine.begun();
    process.kill(pidOf(served, "decoder"), "SIGSTOP");
    expect(await mine.ended).toBe("end");
    mine.expectError("model_hung");
    expect(await within(20_000, async () => (await answers(served)) === 200)).toBe(true);
    expect(await served.stop()).toBe(0);
  });

  it("runs out of memory: who asked is told, and it goes on or is started again", async () => {
    const served = await Served.start(place, ["decoder"]);
    const pid = pidOf(served, "decoder");
    const kilobytes = Number(/VmData:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
    execFileSync("prlimit", ["--pid", `${pid}`, `--data=${1024 * (kilobytes + 1000)}`]);
    const bodies = Array.from({ length: 32 }, (_, i) => ({ prompt: "the cat ", max_tokens: 50, n: 4, seed: i }));
    const found = await Promise.all(bodies.map((body) => served.post("/v1/completions", body)));
    for (const response of found) {
      const body = await response.json();
      if (response.status !== 200) expect(body.error.type, JSON.stringify(body)).toBe("server_error");
      else for (const choice of body.choices) expect(choice.finish_reason).toMatch(/stop|length/);
    }
    if (pidOf(served, "decoder") === pid && served.log.every(({ event }) => event !== "ended")) process.kill(pid, "SIGKILL"); // it got by
    expect(await within(20_000, async () => (await answers(served)) === 200)).toBe(true);
    expect(await served.stop()).toBe(0);
  });

  it("loses its folder: it goes on, and what cannot be opened again says so", async () => {
    cpSync(place.path("decoder"), place.path("fleeting"), { recursive: true });
    const served = await Served.start(place, ["fleeting"]);
    renameSync(place.path("fleeting"), place.path("gone"));
    expect(await answers(served)).toBe(200);
    process.kill(pidOf(served, "fleeting"), "SIGKILL");
    expect(await within(20_000, async () => (await served.fetch("/health")).status === 503)).toBe(true);
    expect(await within(20_000, async () => (await (await served.fetch("/health")).json()).status === "failed")).toBe(true);
    const refused = await served.post("/v1/completions", { prompt: "the" });
    expect(refused.status).toBe(503);
    expect((await refused.json()).error).toMatchObject({
      code: "model_unavailable",
      message: expect.stringContaining("fleeting cannot be opened"),
    });
    const starts = () => served.log.filter(({ event }) => event === "loading").length;
    const before = starts();
    for (let i = 0; i < 3; i++) await Promise.all(Array.from({ length: 20 }, () => answers(served)));
    expect(starts() - before).toBeLessThan(10); // one is opened for all who wait
    renameSync(place.path("gone"), place.path("fleeting"));
    expect(await within(40_000, async () => (await answers(served)) === 200)).toBe(true);
    expect(await served.stop()).toBe(0);
  });
});

it("a request that is late for a model that cannot be opened hurts nobody", async () => {
  cpSync(place.path("decoder"), place.path("brief"), { recursive: true });
  const served = await Served.start(place, ["brief", "--queue-seconds", "1"]);
  renameSync(place.path("brief"), place.path("brief-gone"));
  process.kill(pidOf(served, "brief"), "SIGKILL");
  expect(await within(20_000, async () => (await (await served.fetch("/health")).json()).status === "failed")).toBe(true);
  const body = JSON.stringify({ prompt: "the" });
  const late = await raw(served, head(body, "Connection: close\r\n"));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  late.socket.write(body);
  await late.closed;
  expect(late.read()).toMatch(/^HTTP\/1\.1 (429|503) /);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect((await served.fetch("/health")).status).toBe(503);
  expect(await served.stop()).toBe(0);
});

/** Damages numbers of a tensor of model.safetensors. */
function damaged(from: string, to: string, tensor: RegExp, places: (length: number) => readonly number[]): void {
  cpSync(place.path(from), place.path(to), { recursive: true });
  const file = place.path(to, "model.safetensors");
  const bytes = readFileSync(file);
  const length = Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<string, { data_offsets: [number, number] }>;
  const found = Object.entries(header).find(([name]) => tensor.test(name));
  if (!found) throw new Error(Object.keys(header).join());
  const [, { data_offsets }] = found;
  const out = openSync(file, "r+");
  const nan = Buffer.alloc(4);
  nan.writeFloatLE(Number.NaN);
  for (const i of places((data_offsets[1] - data_offsets[0]) / 4)) writeSync(out, nan, 0, 4, 8 + length + data_offsets[0] + 4 * i);
  closeSync(out);
}

describe("a model with damaged weights", () => {
  it("is not served at all, if every answer would be wrong", async () => {
    damaged("decoder", "useless", /norm.*scale|norm\/scale/, () => [0]);
    const result = await place.qkv("serve", "useless", "--port", "0");
    expectRefusalOfStart(result, /useless cannot be opened: the scores are not numbers/);
  });

  it("fails those alone that meet the damage", async () => {
    const vocab = (JSON.parse(readFileSync(place.path("decoder/config.json"), "utf8")) as { model: { vocab: number; width: number } })
      .model;
    const tokenizer = JSON.parse(readFileSync(place.path("decoder/tokenizer.json"), "utf8")) as {
      model: { vocab: Record<string, number> };
    };
    const { t: id } = tokenizer.model.vocab;
    damaged("decoder", "partly", /embed|token/, () => [id * vocab.width]);
    const served = await Served.start(place, ["partly"]).catch((error) => error as Error);
    if (served instanceof Error) {
      expect(served.message).toContain("the scores are not numbers"); // the table of tokens is that of scores: every answer is wrong
      return;
    }
    const [bad, good] = await Promise.all([
      served.post("/v1/completions", { prompt: "the" }),
      served.post("/v1/completions", { prompt: "a", max_tokens: 1 }),
    ]);
    expect([bad.status, bad.headers.get("x-should-retry")]).toEqual([500, "false"]);
    expect((await bad.json()).error.code).toBe("non-finite");
    expect([200, 500]).toContain(good.status);
  });
});

/** The log is on standard error too. */
function expectRefusalOfStart(result: Awaited<ReturnType<Workplace["qkv"]>>, sentence: RegExp): void {
  const stderr = result.stderr
    .split("\n")
    .filter((line) => !line.startsWith("{"))
    .join("\n");
  expectRefusal({ ...result, stderr }, 1, sentence);
}

describe("the start", () => {
  it("refuses a port that is taken, a model that is not there, a disk that cannot be written", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    expectRefusalOfStart(
      await place.qkv("serve", "decoder", "--port", `${port}`),
      /cannot be listened on: another program listens there; choose another --port/,
    );
    other.close();
    expectRefusalOfStart(await place.qkv("serve", "nowhere", "--port", "0"), /nowhere cannot be opened: .*nowhere/);
    const running = await Served.start(place, [minilm(place)], { XDG_CACHE_HOME: place.write("no-folder", "") }).catch(
      (error) => error as Error,
    );
    expect(running).toBeInstanceOf(Error); // its weights of 16 bits are written out for the engine
    expect((running as Error).message).toMatch(/minilm cannot be opened: .*no-folder/);
  });
});

/** A connection over which anything can be sent. */
async function raw(served: Served, text: string): Promise<{ socket: Socket; read: () => string; closed: Promise<void> }> {
  const socket = connect({ port: served.port, host: "127.0.0.1", allowHalfOpen: true });
  let found = "";
  socket.setEncoding("utf8").on("data", (more: string) => {
    found += more;
  });
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("end", () => socket.end());
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write(text);
  return { socket, read: () => found, closed };
}

const head = (body: string, more = "") =>
  `POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${more}\r\n`;

describe("connections", () => {
  it("that send a byte now and then are closed, and half-closed ones count as gone", async () => {
    const served = await Served.start(place, ["decoder"]);
    const slow = await raw(served, "POST /v1/completions HTTP/1.1\r\nHost: local");
    const drip = setInterval(() => slow.socket.write("h"), 1000);
    const body = JSON.stringify({ ...long, stream: false });
    const half = await raw(served, head(body) + body);
    expect(await within(5000, async () => (await served.metric("qkv_batch_rows")) === 1)).toBe(true);
    half.socket.end();
    await half.closed;
    expect(half.read()).toBe("");
    expect(await within(2000, async () => (await served.metric("qkv_batch_rows")) === 0)).toBe(true);
    expect(served.requests.some(({ status }) => status === 499)).toBe(true);
    await slow.closed;
    clearInterval(drip);
    expect(slow.read()).toContain("408");
    expect(await answers(served)).toBe(200);
    expect(await served.metric("qkv_requests_running")).toBe(0);
  }, 60_000);

  it("that are opened and dropped by the thousands leave nothing behind", async () => {
    const served = await Served.start(place, ["decoder"]);
    for (let i = 0; i < 100; i++) {
      const some = Array.from({ length: 100 }, async (_, j) => {
        const socket = connect(served.port, "127.0.0.1");
        socket.on("error", () => {});
        await new Promise((resolve) => socket.once("connect", resolve));
        if (j % 3 === 0) socket.write("POST /v1/completions HTTP/1.1\r\n");
        if (j % 3 === 1) socket.write(`${head('{"prompt"', "")}{"pro`);
        socket.destroy();
      });
      await Promise.all(some);
    }
    expect(await answers(served)).toBe(200);
    expect(await within(5000, async () => (await served.metric("qkv_requests_running")) === 0)).toBe(true);
    expect(served.log.filter((line) => line.event === "error")).toEqual([]);
  });

  it("that are not read any more are dropped", async () => {
    const served = await Served.start(place, ["decoder", "--read-seconds", "1"]);
    const body = JSON.stringify({ ...long, n: 8, logprobs: 20 });
    const { socket } = await raw(served, head(body) + body);
    socket.pause();
    expect(await within(60_000, async () => (await served.metric("qkv_requests_running")) === 1)).toBe(true);
    expect(await within(60_000, async () => (await served.metric("qkv_requests_running")) === 0)).toBe(true);
    expect(served.requests.at(-1) && served.requests.find(({ status }) => status === 499)?.error).toBe("client_gone");
    socket.destroy();
  }, 180_000);

  it("that are read slowly are read to the end", async () => {
    await trainSmall(place, "rnn");
    const served = await Served.start(place, ["rnn", "--read-seconds", "1"]);
    const body = JSON.stringify({ text: "the cat sat ".repeat(80_000) });
    const { socket, read, closed } = await raw(served, head(body, "Connection: close\r\n").replace("/v1/completions", "/tokenize") + body);
    let taken = 0;
    socket.on("data", (more: string) => {
      taken += more.length;
      if (taken < 400_000) return;
      taken = 0;
      socket.pause();
      setTimeout(() => socket.resume(), 200);
    });
    await closed;
    const [, text] = read().split("\r\n\r\n", 2);
    expect(text.length).toBeGreaterThan(5_000_000);
    expect(JSON.parse(text).count).toBe(960_000);
  }, 120_000);

  it("that leave free their row within a token", async () => {
    const served = await Served.start(place, ["decoder"]);
    const mine = new Reading(served, long);
    await mine.begun();
    mine.leave();
    expect(await within(2000, async () => (await served.metric("qkv_requests_running")) === 0)).toBe(true);
    expect(await within(2000, async () => (await served.metric("qkv_batch_rows")) === 0)).toBe(true);
  });
});

describe("the end", () => {
  it("lets those finish who are there, and lets nobody in", async () => {
    const served = await Served.start(place, ["decoder"]);
    const mine = new Reading(served, { ...long, max_tokens: 400 });
    await mine.begun();
    const stopped = served.stop();
    expect(await within(2000, async () => (await answers(served).catch(() => 0)) !== 200)).toBe(true);
    expect(await mine.ended).toBe("end");
    expect(mine.text).toContain("[DONE]");
    expect(await stopped).toBe(0);
  });

  it("tells those who would take longer", async () => {
    const served = await Served.start(place, ["decoder", "--grace", "1"]);
    const mine = new Reading(served, long);
    await mine.begun();
    const stopped = served.stop();
    expect(await mine.ended).toBe("end");
    mine.expectError("stopping");
    expect(await stopped).toBe(0);
  });
});
