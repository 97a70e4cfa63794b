import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";

// A page as an app would serve it: isolated, so that there are threads, and under a policy that allows nothing but its own scripts and WebAssembly. What a test
// does there is in a worker, bundled from the sources; the page only hands messages on.

/** Functions that a worker offers by their names. */
export type Tasks = Readonly<Record<string, (options: never) => Promise<unknown>>>;

const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-resource-policy": "same-origin",
};
const policy = {
  "content-security-policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'",
};
const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
};
const engine = join(import.meta.dirname, "../../node_modules/onnxruntime-web/dist");
const script = `
  globalThis.asked = (name, options) => new Promise((resolve, reject) => {
    const worker = new Worker("/worker.js", { type: "module" });
    const end = (settle) => (value) => { worker.terminate(); settle(value); };
    worker.onmessage = ({ data: { result, error } }) => end(error === undefined ? resolve : reject)(error === undefined ? result : new Error(error));
    worker.onerror = ({ message }) => end(reject)(new Error(message));
    worker.postMessage({ name, options });
  });
  globalThis.ready = true;
`;

export interface PageOptions {
  /** The file whose `tasks` a worker offers. */
  readonly tasks: string;
  /** Whether pages are isolated; they are if left out. */
  readonly isolated?: boolean;
}

export class TestPage {
  readonly #server: Server;
  readonly #page: Page;
  /** Errors, warnings, and requests to anywhere else. */
  readonly complaints: string[] = [];
  readonly console: string[] = [];
  /** Bytes that were asked for, by path. */
  readonly loaded = new Map<string, number>();
  readonly address: string;

  private constructor(server: Server, page: Page) {
    this.#server = server;
    this.#page = page;
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    page.on("console", (message) => {
      this.console.push(message.text());
      if (["error", "warning"].includes(message.type())) this.complaints.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.message}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(this.address)) this.complaints.push(`request: ${request.url()}`);
    });
  }

  static async open(browser: Browser, { tasks, isolated = true }: PageOptions): Promise<TestPage> {
    const worker = await bundledWorker(tasks);
    const pages: Readonly<Record<string, readonly [type: string, text: string]>> = {
      "/": ["text/html", '<!doctype html><title>laws</title><script type="module" src="/page.js"></script>'],
      "/page.js": ["text/javascript", script],
      "/worker.js": ["text/javascript", worker],
    };
    const server = createServer(({ url = "/" }, answer) => {
      const path = normalize(decodeURIComponent(url.split("?")[0]));
      for (const [name, value] of Object.entries({ ...policy, ...(isolated && isolation) })) answer.setHeader(name, value);
      const own = pages[path];
      if (own) return void answer.setHeader("content-type", own[0]).end(own[1]);
      const file = path.startsWith("/ort/") ? join(engine, path.slice(5)) : "";
      if (!existsSync(file) || !statSync(file).isFile()) return void answer.writeHead(404).end();
      const { size } = statSync(file);
      found.loaded.set(path, size);
      answer.setHeader("content-type", types[extname(file)] ?? "application/octet-stream").setHeader("content-length", size);
      createReadStream(file).pipe(answer);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const found = new TestPage(server, await browser.newPage());
    found.loaded.set("/worker.js", worker.length);
    await found.#page.goto(`${found.address}/`);
    await found.#page.waitForFunction("globalThis.ready === true");
    return found;
  }

  /** What a task of a new worker gives. */
  async ask<Result>(name: string, options: unknown = {}): Promise<Result> {
    return (await this.#page.evaluate(`globalThis.asked(${JSON.stringify(name)}, ${JSON.stringify(options)})`)) as Result;
  }

  async close(): Promise<void> {
    await this.#page.close();
    this.#server.close();
  }
}

/** One script that answers `{ name, options }` with what the task of this name gives, and ends its errors as sentences. */
async function bundledWorker(file: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `
        import { tasks } from ${JSON.stringify(file)};
        self.onmessage = async ({ data: { name, options } }) => {
          if (name === undefined) return;
          try {
            self.postMessage({ result: await tasks[name](options) });
          } catch (error) {
            self.postMessage({ error: String(error?.stack ?? error) });
          }
        };
      `,
      resolveDir: import.meta.dirname,
      loader: "ts",
    },
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    minify: true,
    keepNames: true, // errors are called by the names of their classes
    write: false,
    logLevel: "silent",
  });
  return outputFiles[0].text;
}
