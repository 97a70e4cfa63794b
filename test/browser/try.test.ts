import { type ChildProcess, spawn } from "node:child_process";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serve as listen } from "@hono/node-server";
import { Hono } from "hono";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventsOf } from "../../page/try/events.ts";
import { startBrowser } from "../support/browser.ts";
import { tiny, Workplace } from "../support/command.ts";

// The page of the real server, in a real browser: written to, pointed at, stopped, and left without its model in the middle of a text.

const place = new Workplace();
const { browser, reason, stop } = await startBrowser();
if (reason !== undefined) console.warn(`the tests of the page are skipped: ${reason}`);

const flags = [...tiny, "--tokenizer", "char", "--quiet"];

interface Served {
  readonly url: string;
  /** The process of a model that is there now. */
  processOf(model: string): number;
  end(): Promise<unknown>;
}

const servers: Served[] = [];
const key = "a-key-to-be-typed";
/** All models without a key, and one model with one. */
let [url, locked, processOf]: [string, string, Served["processOf"]] = ["", "", () => 0];

function serve(...args: readonly string[]): Promise<Served> {
  const main = join(import.meta.dirname, "../../dist/cli/main.js");
  const child: ChildProcess = spawn(process.execPath, [main, "serve", ...args, "--port", "0", "--json", "--threads", "1"], {
    cwd: place.folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  const processes = new Map<string, number>();
  let [said, complained] = ["", ""];
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    complained += text;
    for (const [, model, pid] of text.matchAll(/"event":"ready","model":"(\w+)","pid":(\d+)/g)) processes.set(model, Number(pid));
  });
  const end = () => {
    child.kill("SIGTERM");
    return ended;
  };
  return new Promise((resolve, reject) => {
    child.on("close", () => reject(new Error(complained)));
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.includes("\n")) resolve({ url: JSON.parse(said).url, processOf: (model) => processes.get(model) ?? 0, end });
    });
  });
}

beforeAll(async () => {
  if (browser === undefined) return;
  const pairs = ["ab\tba", "abc\tcba", "bca\tacb", "cab\tbac", "aab\tbaa", "bba\tabb", "cc\tcc", "ca\tac"];
  place.write("text.txt", "the cat sat on the mat <b>&\n".repeat(40));
  place.write("pairs.tsv", `source\ttarget\n${pairs.join("\n")}\n`);
  place.write("labels.tsv", `text\tlabel\n${pairs.map((pair, i) => `${pair.replace("\t", "")}\t${i % 2 ? "odd" : "even"}`).join("\n")}\n`);
  place.write(
    "tags.tsv",
    `text\ttags\n${["anna sees paris", "paul sees rome", "anna left rome"].map((text) => `${text}\tPER O LOC\n`).join("")}`,
  );
  await place.done("train", "text.txt", "--out", "writer", ...flags, "--context", "64");
  await place.done("train", "pairs.tsv", "--out", "translator", ...flags);
  await place.done("train", "labels.tsv", "--out", "classifier", ...flags);
  await place.done("train", "tags.tsv", "--out", "tagger", ...tiny, "--batch", "1", "--quiet");
  servers.push(await serve("writer", "translator", "classifier", "tagger"));
  servers.push(await serve("writer", "--api-key", key));
  [url, locked, processOf] = [servers[0].url, servers[1].url, servers[0].processOf];
});

afterAll(async () => {
  await Promise.all(servers.map(({ end }) => end()));
  await stop();
});

interface Opened {
  readonly options?: Parameters<Browser["newPage"]>[0];
  /** What the browser itself notes of an answer that is an error. */
  readonly status?: number;
}

/** Opens the page with a model, does something, and expects no complaint, and no request to anywhere else. */
async function withPage(model: string, body: (page: Page) => Promise<void>, { options = {}, status }: Opened = {}): Promise<void> {
  const page = await (browser as Browser).newPage({ viewport: { width: 1200, height: 800 }, ...options });
  const complaints: string[] = [];
  page.on("console", (message) => {
    const own = status !== undefined && message.text().includes(`the server responded with a status of ${status}`);
    if (["error", "warning"].includes(message.type()) && !own) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (![url, locked, "data:"].some((own) => request.url().startsWith(own))) complaints.push(`request: ${request.url()}`);
  });
  try {
    await page.goto(`${options?.httpCredentials ? locked : url}/#model=${model}`);
    await page.locator("form").waitFor();
    await body(page);
    expect(complaints).toEqual([]);
  } finally {
    await page.close();
  }
}

const button = (page: Page): Locator => page.locator(".go");
const facts = (page: Page): Locator => page.locator(".facts");
const tokens = (page: Page): Locator => page.locator(".tokens .token");
/** Until the answer is there. */
const answered = (page: Page) => page.locator("form:not(.running) .facts", { hasText: /\d (tokens?|ms)|stopped/ }).waitFor();
/** In the page: what a control is called. */
const nameOf = (element: {
  ariaLabel: string | null;
  textContent: string | null;
  labels?: Iterable<{ textContent: string | null }>;
}): string => element.ariaLabel || element.textContent || [...(element.labels ?? [])].map((label) => label.textContent).join("");
const set = async (page: Page, values: Readonly<Record<string, string>>) => {
  for (const [name, value] of Object.entries(values)) await page.locator(`[name="${name}"]`).fill(value);
};

describe.skipIf(browser === undefined)("a model that writes", () => {
  it("writes on, token by token, and tells of each how likely it was", async () => {
    await withPage("writer", async (page) => {
      expect(await page.locator(".model").textContent()).toMatch(
        /^language model · decoder · [\d.]+ k parameters · context 64 · \d+ tokens known$/,
      );
      await page.locator('.state[data-state="ready"]').waitFor();
      await set(page, { prompt: "the <b>cat", max_tokens: "12", temperature: "0", seed: "1" });
      await page.keyboard.press("Control+Enter");
      await answered(page);
      const body = { model: "writer", prompt: "the <b>cat", max_tokens: 12, temperature: 0, logprobs: 5 };
      const headers = { "Content-Type": "application/json" };
      const { choices } = await (await fetch(`${url}/v1/completions`, { method: "POST", headers, body: JSON.stringify(body) })).json();
      const [{ text, logprobs }] = choices;
      expect(await page.locator(".written").textContent()).toBe(`the <b>cat${text}`);
      expect(await tokens(page).count()).toBe(12);
      expect(await facts(page).textContent()).toMatch(/^12 tokens · .* tokens\/s · first after \d+ ms · 10 read · ended by its limit$/);
      expect(await page.locator("[role=status].unseen").textContent()).toBe(text);

      await tokens(page).nth(2).hover();
      const probability = 100 * Math.exp(logprobs.token_logprobs[2]);
      expect(await page.locator(".hint .chosen .number").textContent()).toBe(`${probability.toFixed(1)} %`);
      const others = Object.keys(logprobs.top_logprobs[2]);
      expect(await page.locator(".hint tr").count()).toBe(Math.max(1, others.length));
      await page.mouse.move(1, 1);
      expect(await page.locator(".hint").isHidden()).toBe(true);
    });
  });

  it("shows tokens to the keyboard, with spaces that can be seen", async () => {
    await withPage("writer", async (page) => {
      await set(page, { max_tokens: "60", temperature: "1", seed: "4" });
      await button(page).click();
      await answered(page);
      const written = await tokens(page).allTextContents();
      const space = written.indexOf(" ");
      expect(space).toBeGreaterThanOrEqual(0);
      await page.locator("details.curl summary").focus();
      await page.keyboard.press("Shift+Tab");
      await page.keyboard.press("Home");
      for (let i = 0; i < space; i++) await page.keyboard.press("ArrowRight");
      expect(await page.locator(".hint .chosen th").textContent()).toBe("␣");
      expect(await page.locator("[aria-selected]").getAttribute("aria-label")).toMatch(/^␣, [<\d.]+ %/);
      await page.keyboard.press("Escape");
      expect(await page.locator(".hint").isHidden()).toBe(true);
    });
  });

  it("stops in the middle, by its button and by Escape", async () => {
    await withPage("writer", async (page) => {
      await set(page, { prompt: "the cat", max_tokens: "1000000", temperature: "0" });
      for (const halt of [() => button(page).click(), () => page.keyboard.press("Escape")]) {
        await button(page).click();
        await tokens(page).nth(40).waitFor();
        expect(await button(page).textContent()).toBe("Stop");
        await halt();
        await answered(page);
        expect(await facts(page).textContent()).toMatch(/^\d+ tokens · .* · stopped$/);
        expect(await button(page).textContent()).toBe("Write");
      }
      expect(await page.locator(".error").isHidden()).toBe(true);
    });
  });

  it("says what is wrong in the server's words, and where", async () => {
    await withPage(
      "writer",
      async (page) => {
        await set(page, { temperature: "9" });
        await button(page).click();
        await page.locator(".error", { hasText: "temperature: a number from 0 to 2 is wanted, not 9" }).waitFor();
        expect(await page.locator("[aria-invalid]").getAttribute("name")).toBe("temperature");
        expect(await tokens(page).count()).toBe(0);
        await set(page, { temperature: "1", max_tokens: "3" });
        await button(page).click();
        await answered(page);
        expect(await page.locator(".error").isHidden()).toBe(true);
      },
      { status: 400 },
    );
  });

  it("never shows a text that broke off as a whole one", async () => {
    await withPage("writer", async (page) => {
      await set(page, { prompt: "the cat", max_tokens: "1000000", temperature: "0" });
      await button(page).click();
      await tokens(page).nth(20).waitFor();
      process.kill(processOf("writer"), "SIGKILL");
      await page.locator(".error").waitFor();
      expect(await page.locator(".error").textContent()).toMatch(/SIGKILL/);
      expect(await page.locator(".answer.broken").count()).toBe(1);
      expect(await facts(page).textContent()).toBe("");
      await page.locator('.state[data-state="ready"]').waitFor(); // it was started again
      await set(page, { max_tokens: "3" });
      await button(page).click();
      await answered(page);
      expect(await page.locator(".answer.broken").count()).toBe(0);
    });
  });

  it("keeps a conversation", async () => {
    await withPage("writer", async (page) => {
      await page.locator("[data-mode=chat]").click();
      await set(page, { max_tokens: "2", temperature: "0" });
      for (const words of ["a", "cat"]) {
        await set(page, { messages: words });
        await button(page).click();
        await page.locator(".turn.user", { hasText: words }).waitFor();
        await answered(page);
      }
      expect(await page.locator(".turn").count()).toBe(4);
      await page.locator("details.curl summary").click();
      await page.locator(".curl pre", { hasText: `curl -N ${url}/v1/chat/completions` }).waitFor();
      const command = (await page.locator(".curl pre").textContent()) ?? "";
      expect(JSON.parse(/'(\{[\s\S]*\})'$/.exec(command)?.[1] ?? "").messages.map(({ role }: { role: string }) => role)).toEqual([
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
      ]);
      await page.getByText("new conversation").click();
      expect(await page.locator(".turn").count()).toBe(0);
    });
  });

  it("is let in with a key as a password, and tells curl to send one", async () => {
    await withPage(
      "writer",
      async (page) => {
        await set(page, { prompt: "it's", max_tokens: "2", temperature: "0" });
        await page.keyboard.press("Control+Enter");
        await answered(page);
        expect(await tokens(page).count()).toBe(2);
        await page.locator("details.curl summary").click();
        await page.locator(".curl pre", { hasText: "Bearer $QKV_API_KEY" }).waitFor();
        expect(await page.locator(".curl pre").textContent()).toContain(`"it'\\''s"`);
        expect(await page.locator("header select").isHidden()).toBe(true); // there is but one model
      },
      { options: { httpCredentials: { username: "anybody", password: key } }, status: 401 },
    );
  });
});

describe.skipIf(browser === undefined)("several models", () => {
  it("are chosen from a list, and each keeps what was written to it", async () => {
    await withPage("classifier", async (page) => {
      await set(page, { input: "abba" });
      await button(page).click();
      await answered(page);
      expect((await page.locator(".bars th").allTextContents()).sort()).toEqual(["even", "odd"]);
      const shares = (await page.locator(".bars .number").allTextContents()).map(Number.parseFloat);
      expect(shares[0] + shares[1]).toBeCloseTo(100, 0);
      expect(shares[0]).toBeGreaterThanOrEqual(shares[1]);
      await page.locator("header select").selectOption("translator");
      expect(page.url()).toContain("#model=translator");
      await set(page, { prompt: "abc", max_tokens: "4" });
      await button(page).click();
      await answered(page);
      expect(await page.locator(".given").count()).toBe(0);
      await set(page, { beams: "3" });
      expect(await page.locator("[name=temperature]").isDisabled()).toBe(true);
      await button(page).click();
      await page.locator("form:not(.running) .facts", { hasText: /read/ }).waitFor();
      expect(await page.locator(".error").isHidden()).toBe(true);
      await page.locator("header select").selectOption("classifier");
      expect(await page.locator("[name=input]").inputValue()).toBe("abba");
    });
  });

  it("tag word by word", async () => {
    await withPage("tagger", async (page) => {
      await set(page, { input: "paul left paris" });
      await button(page).click();
      await answered(page);
      expect(await page.locator(".tagged bdi").allTextContents()).toEqual(["paul", "left", "paris"]);
      for (const tag of await page.locator(".tagged small").allTextContents()) expect(["PER", "O", "LOC"]).toContain(tag);
    });
  });

  it("are named for those who listen, and dark where the system is", async () => {
    await withPage(
      "writer",
      async (page) => {
        const controls = page.locator("button:visible, select:visible, input:visible, textarea:visible");
        for (const control of await controls.all()) expect(await control.evaluate(nameOf)).not.toBe("");
        expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe("rgb(21, 23, 28)");
        const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        expect(wide).toBe(0);
      },
      { options: { colorScheme: "dark", viewport: { width: 360, height: 640 } } },
    );
  });
});

describe("the events of a stream", () => {
  const said = async (text: string, size: number): Promise<string[]> => {
    const bytes = new TextEncoder().encode(text);
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.slice(i, i + size));
        controller.close();
      },
    });
    const found: string[] = [];
    for await (const event of eventsOf(stream)) found.push(event);
    return found;
  };

  it("are the same however their bytes come", async () => {
    const text =
      'data: {"a":"über 你好 🐋"}\n\n: a comment\r\n\r\nevent: x\r\ndata:two\r\ndata: lines\r\n\r\ndata\rid: 3\r\rdata: [DONE]\n\ndata: never ended\n';
    const events = ['{"a":"über 你好 🐋"}', "two\nlines", "", "[DONE]"];
    for (let size = 1; size < 40; size++) expect(await said(text, size), `${size} bytes at once`).toEqual(events);
    expect(await said(text, 1000)).toEqual(events);
  });
});

it.skipIf(browser === undefined)("a page that is mounted somewhere asks there", async () => {
  const door = join(import.meta.dirname, "../../dist/entries/server.js");
  const { ModelServer } = (await import(door)) as typeof import("../../src/entries/server.ts");
  const models = new ModelServer({ writer: place.path("writer") });
  await models.open();
  const app = new Hono().mount("/ai", models.fetch);
  const server = listen({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const page = await (browser as Browser).newPage();
  try {
    for (const path of ["/ai", "/ai/"]) {
      await page.goto(`http://127.0.0.1:${port}${path}`);
      await page.locator("form").waitFor();
      expect(await page.locator("a").first().getAttribute("href")).toMatch(/^\/ai\//);
    }
  } finally {
    await page.close();
    server.close();
    await models.close();
  }
});
