import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { Workplace } from "../support/command.ts";
import { Served, trainSmall, within } from "../support/serve.ts";

// Several models in a memory that is too small for all of them, and what is seen of one while it is opened.

const place = new Workplace();
/** Bytes of a process with one small model. */
let one: number;
beforeAll(async () => {
  await trainSmall(place, "decoder", "classifier");
  const served = await Served.start(place, ["a=decoder"]);
  await served.post("/v1/completions", { model: "a", prompt: "the", max_tokens: 8 });
  one = await served.metric("qkv_model_memory_bytes");
  await served.stop();
});

/** Room for two of them, but not for three, or for one, but not for two. */
const roomFor = (count: number): string => `${Math.round(((count + 0.5) * one) / 2 ** 20)}MB`;

const main = join(import.meta.dirname, "../../dist/cli/main.js");

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const states = async (served: Served): Promise<Record<string, string>> => {
  const { models } = (await (await served.fetch("/health")).json()) as { models: { name: string; status: string }[] };
  return Object.fromEntries(models.map(({ name, status }) => [name, status]));
};

describe("several models", () => {
  it("make room for each other, the one not asked for longest first, and answer as ever", async () => {
    const served = await Served.start(place, ["a=decoder", "b=decoder", "c=classifier", "--memory", roomFor(2)]);
    const text = async (model: string) =>
      (await (await served.post("/v1/completions", { model, prompt: "the", seed: 1, max_tokens: 8 })).json()).choices[0].text;
    const first = await text("a");
    expect(await text("b")).toBe(first);
    expect((await states(served)).c).toBe("unloaded");
    expect((await served.post("/v1/classify", { model: "c", input: "good" })).status).toBe(200);
    expect(await states(served)).toEqual({ a: "unloaded", b: "ready", c: "ready" });
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => text("ab"[i % 2])));
    expect(new Set(answers)).toEqual(new Set([first]));
    const { data } = (await (await served.fetch("/v1/models")).json()) as { data: { id: string; task: string }[] };
    expect(data.map(({ id, task }) => [id, task])).toEqual([
      ["a", "lm"],
      ["b", "lm"],
      ["c", "classify"],
    ]);
    expect(await served.metric("qkv_model_crashes")).toBe(0);
    expect(await served.stop()).toBe(0);
  });

  it("are not kept waiting by one that is always busy", async () => {
    const served = await Served.start(place, ["a=decoder", "b=decoder", "--memory", roomFor(1)]);
    const body = { model: "b", prompt: "the", max_tokens: 1500, logit_bias: { "2": -100 } };
    let [over, answered] = [false, 0];
    const busy = async () => {
      while (!over) answered += (await served.post("/v1/completions", body)).status === 200 ? 1 : 0;
    };
    const clients = [busy(), busy()]; // one of them is always there
    expect(await within(10_000, async () => (await served.metric("qkv_batch_rows")) === 2)).toBe(true);
    const first = await served.post("/v1/completions", { model: "a", prompt: "the", max_tokens: 2 });
    expect(first.status).toBe(200);
    const before = answered;
    expect(await within(20_000, () => answered > before + 1)).toBe(true); // the other is opened again for those who wait for it
    over = true;
    await Promise.all(clients);
    expect(served.requests.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
    expect(await served.metric("qkv_model_crashes")).toBe(0);
    expect(await served.stop()).toBe(0);
  });

  it("are opened later, where one that is open is in use", async () => {
    const port = await freePort();
    const flags = ["a=decoder", "b=decoder", "--memory", roomFor(1), "--port", `${port}`, "--json", "--grace", "0.1"];
    const child = spawn(process.execPath, [main, "serve", ...flags], { cwd: place.folder, stdio: ["ignore", "pipe", "ignore"] });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    const stream = (): Promise<Response | undefined> =>
      fetch(`http://127.0.0.1:${port}/v1/completions`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ model: "a", prompt: "the", max_tokens: 1_000_000, stream: true, logit_bias: { "2": -100 } }),
      }).catch(() => undefined);
    let busy: Response | undefined;
    expect(
      await within(20_000, async () => {
        busy ??= await stream();
        return busy !== undefined;
      }),
    ).toBe(true);
    const [line] = (await child.stdout.setEncoding("utf8").take(1).toArray()) as string[];
    expect(JSON.parse(line).models).toEqual(["a", "b"]);
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
  });

  it("refuse a model that is larger than all of the memory", async () => {
    const { code, stderr } = await place.qkv("serve", "decoder", "--port", "0", "--memory", "50MB");
    expect(code).toBe(1);
    expect(stderr).toMatch(/decoder takes about \d+ MiB, and all models together may take 48 MiB/);
  });
});

it("a model that is being opened is seen to be, and whoever asks waits for it", async () => {
  const port = await freePort();
  const child = spawn(process.execPath, [main, "serve", "decoder", "--port", `${port}`, "--quiet"], { cwd: place.folder, stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const health = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    return response && `${response.status} ${((await response.json()) as { status: string }).status}`;
  };
  let seen: string | undefined;
  expect(
    await within(20_000, async () => {
      seen = await health();
      return seen !== undefined;
    }),
  ).toBe(true);
  expect(seen).toBe("503 loading");
  const body = JSON.stringify({ prompt: "the", max_tokens: 2 });
  const answer = await fetch(`http://127.0.0.1:${port}/v1/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
  });
  expect(answer.status).toBe(200);
  expect(await within(5000, async () => (await health()) === "200 ok")).toBe(true);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});
