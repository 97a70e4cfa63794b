import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { expect } from "vitest";

// The studio as a person has it: the real command in a folder of its own, and pages of it in a real browser, driven by what can be read there.

const main = join(import.meta.dirname, "../../dist/cli/main.js");

export class StudioPlace {
  readonly folder = mkdtempSync(join(tmpdir(), "qkv-studio-"));
  readonly runs = join(this.folder, "runs");
  #child: ChildProcess | undefined;
  /** With the token. */
  url = "";

  constructor() {
    mkdirSync(this.runs);
  }

  /** Starts the command; the port of before where there was one, as a person would. */
  async start(): Promise<void> {
    const port = this.url === "" ? "0" : new URL(this.url).port;
    const flags = ["studio", this.runs, "--port", port, "--no-open", "--json", "--threads", "1"];
    const child = spawn(process.execPath, [main, ...flags], {
      cwd: this.folder,
      env: { ...process.env, XDG_CACHE_HOME: join(this.folder, "cache") },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    let [out, complaint] = ["", ""];
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint += text;
    });
    this.url = await new Promise<string>((resolve, reject) => {
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        out += text;
        if (out.includes("\n")) resolve((JSON.parse(out) as { url: string }).url);
      });
      child.once("close", () => reject(new Error(`the studio ended: ${complaint}`)));
    });
  }

  /** Ends it as a crash would, and waits until it is gone. */
  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("close", resolve));
    child.kill(signal);
    await gone;
  }

  async end(): Promise<void> {
    await this.kill("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** A page of the studio: what it complains of, and what is on it. */
export class StudioPage {
  readonly page: Page;
  readonly complaints: string[] = [];

  constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(60_000);
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.message}`));
  }

  static async open(
    browser: Browser,
    url: string,
    size = { width: 1280, height: 900 },
    colorScheme: "light" | "dark" = "light",
  ): Promise<StudioPage> {
    const context = await browser.newContext({ viewport: size, acceptDownloads: true, colorScheme });
    const found = new StudioPage(await context.newPage());
    await found.page.goto(url);
    return found;
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", typeof name === "string" ? { name, exact: true } : { name }).first();
  }

  /** Another address of the same page: a deep link. */
  async at(hash: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  }

  /** The training that is watched comes to its end. */
  async ended(): Promise<void> {
    await this.page.locator('main .badge[data-state="done"]').waitFor({ timeout: 120_000 });
  }

  /** Nothing is waited for any more. */
  async settled(): Promise<void> {
    const { page } = this;
    const waiting = page.locator('main [aria-busy="true"], main .note[role="status"]');
    while ((await waiting.count()) > 0) await page.waitForTimeout(50);
  }

  /** Waits until the words are to be read somewhere. */
  async reads(words: string | RegExp): Promise<void> {
    await this.page.getByText(words).filter({ visible: true }).first().waitFor();
  }

  /** Saves what a menu offers, and gives the file's name and content. */
  async saved(menu: Locator, kind: string): Promise<{ readonly name: string; readonly bytes: Buffer }> {
    await menu.click();
    const coming = this.page.waitForEvent("download");
    await this.page.getByRole("button", { name: kind, exact: true }).click();
    const download = await coming;
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
  }

  /** What axe-core finds that is serious, as sentences. */
  async barriers(axe: string): Promise<string[]> {
    await this.page.evaluate(axe);
    return (await this.page.evaluate(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 160)).slice(0, 3).join(" | ")))`)) as string[];
  }

  /** Nothing is wider than the screen. */
  async fits(): Promise<void> {
    const [wide, screen] = (await this.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")) as [number, number];
    expect(wide).toBeLessThanOrEqual(screen);
  }
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".txt": "text/plain; charset=utf-8",
};

/** Any web server that serves files under a path, with the headers that the build asks for. */
export async function serveFolder(folder: string, path = "/some/where/"): Promise<{ readonly url: string; stop(): void }> {
  const headers = readFileSync(join(folder, "_headers"), "utf8")
    .split("\n")
    .flatMap((line) => /^\s+([\w-]+): (.+)$/.exec(line)?.slice(1, 3) ?? []);
  const server: Server = createServer(({ url = "/" }, answer) => {
    const asked = normalize(decodeURIComponent(url.split("?")[0]));
    for (let i = 0; i < headers.length; i += 2) answer.setHeader(headers[i], headers[i + 1]);
    try {
      const file = asked === path ? "index.html" : asked.slice(path.length);
      const bytes = readFileSync(join(folder, asked.startsWith(path) ? file : "\0"));
      answer.setHeader("content-type", types[extname(file)] ?? "application/octet-stream").end(bytes);
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
