import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { open } from "../../src/library/trained.ts";
import { rhyme } from "../journeys/samples.ts";
import { startBrowser } from "../support/browser.ts";
import { Workplace } from "../support/command.ts";

// An exported folder in a real browser: a page of a local server, transformers.js from node_modules in WebAssembly, and nothing from elsewhere.

const { browser, reason, stop } = await startBrowser();
if (reason !== undefined) console.warn(`the tests of exports in a page are skipped: ${reason}`);

const place = new Workplace();
const packages = join(import.meta.dirname, "../../node_modules");
const roots: Readonly<Record<string, string>> = {
  "/models/": place.path(),
  "/library/": join(packages, "@huggingface/transformers/dist"),
  "/engine/": join(packages, "onnxruntime-web/dist"),
};
const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

/** What is in the folders above, and an empty page. */
function serve(): Promise<Server> {
  const server = createServer(({ url = "/" }, answer) => {
    const path = normalize(decodeURIComponent(url.split("?")[0]));
    if (path === "/") return void answer.setHeader("content-type", "text/html").end("<!doctype html><title>export</title>");
    const root = Object.keys(roots).find((start) => path.startsWith(start));
    const file = root === undefined ? "" : join(roots[root], path.slice(root.length));
    if (!existsSync(file) || !statSync(file).isFile()) return void answer.writeHead(404).end();
    answer.setHeader("content-type", types[extname(file)] ?? "application/octet-stream");
    answer.setHeader("content-length", statSync(file).size);
    createReadStream(file).pipe(answer);
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

let server: Server;
let address = "";
const weights = ["f32", "q8", "q4", "f16"] as const;

beforeAll(async () => {
  if (browser === undefined) return;
  place.write("text.txt", rhyme);
  const flags =
    "--width 32 --heads 2 --kv-heads 1 --layers 2 --context 64 --batch 8 --steps 60 --threads 1 --seed 3 --quiet --tokenizer char";
  await place.done("train", "text.txt", "--out", "run", ...flags.split(" "));
  for (const one of weights) await place.done("export", "run", "--to", "onnx", "--weights", one, "--out", `exported-${one}`);
  server = await serve();
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await stop();
  server?.close();
});

describe.skipIf(browser === undefined)("transformers.js in a page", () => {
  it("goes on with a text as qkv does, whatever its weights are", async () => {
    await using model = open(place.path("run"), { threads: 1, warn: false });
    const [[{ text }]] = await model.samples(["the cat"], { tokens: 16, temperature: 0 });
    const page = await (browser as Browser).newPage();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`${address}/`);
    const found = await page.evaluate(
      `(async () => {
        const { env, pipeline } = await import("/library/transformers.min.js");
        env.allowRemoteModels = false;
        env.allowLocalModels = true;
        env.localModelPath = "/models/";
        env.useBrowserCache = false;
        env.backends.onnx.wasm.wasmPaths = "/engine/";
        env.backends.onnx.wasm.numThreads = 1;
        const said = {};
        for (const weights of ${JSON.stringify(weights)}) {
          const model = await pipeline("text-generation", "exported-" + weights, { device: "wasm" });
          const [{ generated_text }] = await model("the cat", { max_new_tokens: 16 });
          said[weights] = generated_text;
          await model.dispose();
        }
        return said;
      })()`,
    );
    await page.close();
    expect(found).toEqual(Object.fromEntries(weights.map((one) => [one, `the cat${text}`])));
    expect(asked.filter((url) => !url.startsWith(address) && !url.startsWith("blob:"))).toEqual([]);
  });
});
