// What a page with qkv/web is like, in a real browser, under the policy that is promised: bytes that it loads, how long the page itself is held up while it trains,
// how soon a pause and a stop are heard, what it asks for once it has loaded, and what its console complains of.
// Usage: npm run build && node scripts/web-page.mjs [executable of another browser]   (the one of npm if left out; Firefox too)
import { createReadStream, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { gzipSync } from "node:zlib";
import chromium from "@sparticuz/chromium";
import { chromium as driver, firefox } from "playwright-core";

const root = new URL("..", import.meta.url).pathname;
const [executable] = process.argv.slice(2);
const types = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".txt": "text/plain" };
const headers = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "content-security-policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'",
};
const places = { "/node_modules/qkv/": root, "/node_modules/onnxruntime-web/": join(root, "node_modules/onnxruntime-web/") };
let asked = [];
const server = createServer(({ url }, answer) => {
  const path = normalize(decodeURIComponent(url));
  for (const [name, value] of Object.entries(headers)) answer.setHeader(name, value);
  if (path === "/") return answer.setHeader("content-type", "text/html").end("<!doctype html><title>figures</title><p>a page</p>");
  const start = Object.keys(places).find((one) => path.startsWith(one));
  const file = start && join(places[start], path.slice(start.length));
  if (!file || !statSync(file, { throwIfNoEntry: false })?.isFile()) return answer.writeHead(404).end();
  asked.push({ path, file });
  answer.setHeader("content-type", types[extname(file)] ?? "application/octet-stream");
  createReadStream(file).pipe(answer);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${server.address().port}/`;

const isFirefox = executable?.includes("firefox");
const browser = await (isFirefox ? firefox : driver).launch({
  executablePath: executable ?? (await chromium.executablePath()),
  headless: true,
  args: isFirefox ? [] : ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
const context = await browser.newContext();
const page = await context.newPage();
const complaints = [];
page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(error.message));
page.on("request", (request) => !request.url().startsWith(address) && complaints.push(`request: ${request.url()}`));
await page.goto(address);
console.log(`${isFirefox ? "Firefox" : "Chromium"} ${browser.version()}`);

const text = readFileSync(join(root, "data/moby-dick.txt"), "utf8").slice(0, 300_000);
const inPage = (body, given) =>
  page.evaluate(
    `(async () => { const qkv = await import("/node_modules/qkv/dist/page/qkv.js"); const given = ${JSON.stringify(given ?? {})}; ${body} })()`,
  );
const report = (what) => {
  const own = asked.filter(({ path }) => path.includes("/qkv/"));
  const others = asked.filter(({ path }) => !path.includes("/qkv/"));
  const kilobytes = (files, packed) =>
    Math.round(
      files.reduce((sum, { file }) => sum + (packed ? gzipSync(readFileSync(file), { level: 9 }).length : statSync(file).size), 0) / 1000,
    );
  console.log(
    `${what}: ${kilobytes(own, true)} KB of ours gzipped (${kilobytes(own)} plain, ${own.length} files), ONNX Runtime ${kilobytes(others, true)} KB gzipped (${kilobytes(others)} plain)`,
  );
};

// A first run makes something to open; the second visit is what is counted.
await inPage(
  `const computer = await qkv.connect({ device: "wasm" });
   await computer.train({ text: given.text.slice(0, 20000) }, { out: "/runs/first", steps: 5, batch: 4, tokenizer: "char", model: { width: 32, heads: 2, layers: 1, context: 32 } });
   computer.end();`,
  { text },
);
await page.reload();
asked = [];
const first = await inPage(
  `const begin = performance.now();
   const computer = globalThis.computer = await qkv.connect({ device: "wasm" });
   const run = globalThis.opened = await computer.open({ run: "/runs/first" });
   for await (const piece of run.generate("Call", { tokens: 1 })) break;
   return performance.now() - begin;`,
);
report("before the first token");
console.log(`first token of a kept run ${first.toFixed(0)} ms after the script begins`);
await page.waitForTimeout(5000); // the rest is loaded when nothing is wanted
report("all of it");

asked = [];
await context.setOffline(true);
const found = await inPage(
  `const gaps = [], tasks = [];
   let watching = true, last = performance.now();
   const beat = () => { const now = performance.now(); gaps.push(now - last); last = now; if (watching) setTimeout(beat, 0); };
   beat();
   try { new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" }); } catch {}
   const training = computer.begin({ text: given.text }, { out: "/runs/w1", overwrite: true, steps: 60, batch: 12, evalEvery: 1000, tokenizer: "char", model: { width: 128, heads: 4, layers: 4, context: 64 } });
   const steps = []; let pausedAt = 0, stopped = 0, pause = 0;
   for await (const event of training) {
     if (event.kind === "step") steps.push(event.seconds);
     if (event.kind === "step" && event.step === 20) { pausedAt = performance.now(); training.pause(); }
     if (event.kind === "paused") { pause = performance.now() - pausedAt; training.go(); }
     if (event.kind === "step" && event.step >= 40 && !stopped) { stopped = performance.now(); training.stop().then(() => { stopped = performance.now() - stopped; }); }
   }
   await training.finished.catch(() => {});
   await new Promise((resolve) => setTimeout(resolve, 50));
   watching = false;
   const look = await opened.look("attention", "Call me");
   const picture = await opened.picture("attention", "Call me");
   const measures = await opened.evaluate();
   const again = await computer.resume({ run: "/runs/w1" }, { steps: 45 }).finished;
   return { longestTask: Math.max(0, ...tasks), longestGap: Math.max(...gaps), step: Math.min(...steps) * 1000, median: steps.toSorted((a, b) => a - b)[steps.length >> 1] * 1000, pause, stop: stopped, steps: again.result.steps, picture: picture.length, loss: measures.loss };`,
  { text },
);
console.log(
  `while W1 trains: longest task of the page ${found.longestTask.toFixed(0)} ms (0: none over 50), longest gap between two beats ${found.longestGap.toFixed(0)} ms`,
);
console.log(
  `a step takes ${found.step.toFixed(0)} ms at best, ${found.median.toFixed(0)} in the middle; a pause is heard after ${found.pause.toFixed(0)} ms, a stop is saved after ${found.stop.toFixed(0)} ms`,
);
console.log(
  `without a network: trained, paused, stopped, resumed to step ${found.steps}, measured (loss ${found.loss.toFixed(2)}), drawn (${found.picture} characters); requests: ${asked.length}`,
);
console.log(`complaints of the console: ${complaints.length}${complaints.map((one) => `\n  ${one}`).join("")}`);
await browser.close();
server.close();
