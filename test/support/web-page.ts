import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";

// A page with `qkv/web` as an app would serve it: the built files, ONNX Runtime's, whatever folders the test has, and nothing from elsewhere; isolated, so that
// there are threads, and under the policy that is promised.

const root = join(import.meta.dirname, "../..");
const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".txt": "text/plain; charset=utf-8",
};
export const policy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' blob: data:";

export interface AppOptions {
  /** Folders by the beginning of their addresses. */
  readonly folders?: Readonly<Record<string, string>>;
  /** Texts by their addresses. */
  readonly texts?: Readonly<Record<string, string>>;
  readonly isolated?: boolean;
}

/** A server of an app that uses qkv. */
export class App {
  readonly address: string;
  readonly #server: Server;
  /** What was asked for, in order. */
  readonly asked: string[] = [];

  private constructor(server: Server) {
    this.#server = server;
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start({ folders = {}, texts = {}, isolated = true }: AppOptions = {}): Promise<App> {
    const all: Readonly<Record<string, string>> = {
      ...folders,
      "/node_modules/qkv/dist/": join(root, "dist"),
      "/node_modules/onnxruntime-web/": join(root, "node_modules/onnxruntime-web"),
    };
    const pages: Readonly<Record<string, string>> = { "/": "<!doctype html><title>qkv</title>", ...texts };
    const server = createServer(({ url = "/", method }, answer) => {
      const path = normalize(decodeURIComponent(url.split("?")[0]));
      app.asked.push(`${method} ${path}`);
      answer.setHeader("content-security-policy", policy);
      if (isolated) {
        answer.setHeader("cross-origin-opener-policy", "same-origin");
        answer.setHeader("cross-origin-embedder-policy", "require-corp");
      }
      if (path in pages) {
        const isPage = pages[path].startsWith("<!doctype"); // as servers of apps answer what they do not know
        answer.setHeader("content-type", isPage ? types[".html"] : (types[extname(path)] ?? types[".html"])).end(pages[path]);
        return;
      }
      const start = Object.keys(all).find((one) => path.startsWith(one));
      const file = start === undefined ? "" : join(all[start], path.slice(start.length));
      if (!existsSync(file) || !statSync(file).isFile()) {
        answer.writeHead(404).end();
        return;
      }
      const { size, mtimeMs } = statSync(file);
      answer.setHeader("content-type", types[extname(file)] ?? "application/octet-stream");
      answer.setHeader("content-length", size).setHeader("etag", `"${size}-${mtimeMs}"`);
      if (method === "HEAD") answer.end();
      else createReadStream(file).pipe(answer);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const app = new App(server);
    return app;
  }

  /** A page of it, in which `qkv` is the door. */
  async page(browser: Browser | BrowserContext, path = "/"): Promise<AppPage> {
    const page = await browser.newPage();
    const found = new AppPage(page, this.address);
    await page.goto(`${this.address}${path}`);
    return found;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

export class AppPage {
  readonly page: Page;
  /** Errors, warnings, and requests to anywhere else. */
  readonly complaints: string[] = [];

  constructor(page: Page, address: string) {
    this.page = page;
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.message}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(address) && !request.url().startsWith("blob:")) this.complaints.push(`request: ${request.url()}`);
    });
  }

  /** Runs the body of an async function in the page; `qkv` is the door, and `given` what is given. */
  run<Result>(body: string, given: unknown = {}): Promise<Result> {
    const program = `(async () => {
      const qkv = await import("/node_modules/qkv/dist/page/qkv.js");
      const given = ${JSON.stringify(given)};
      ${body}
    })()`;
    return this.page.evaluate(program) as Promise<Result>;
  }
}
