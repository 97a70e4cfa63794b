// Measures the attention of the studio with 512 tokens and 12 × 12 heads in a real browser, through the app's own room and with made-up weights
// in the place of a model: pointing at tokens, at the map, at small maps, scrolling, opening heads. Every figure is the time until the next
// picture of the screen, in milliseconds; scrolling and pointing must stay under 50.
// Usage: npm run build && node scripts/studio-attention-speed.mjs [tokens] [layers] [heads]
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import chromium from "@sparticuz/chromium";
import { build } from "esbuild";
import { chromium as driver } from "playwright-core";
import { headStatisticsOf } from "../dist/inspection/statistics.js";
import { packedFloats, packedWeights } from "../dist/pictures/page-data.js";
import { pooled } from "../dist/pictures/pool.js";
import { pageSystem } from "./page-system.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The room with a model that answers what was made for it, as the text of JSON. */
const app = `
import { render } from "preact";
import { standing } from "./compute/place.ts";
import { address } from "./address.ts";
import { AttentionRoom } from "./look/attention/room.tsx";
import { TokenStrip } from "./parts/token-strip.tsx";
const packed = async (view, text, { layer, head }) => {
  const name = layer === undefined ? "overview" : head === undefined ? "layer-" + layer : "head-" + layer + "-" + head;
  return JSON.parse(await (await fetch("/" + name + ".json")).text());
};
const facts = { model: "decoder", task: "lm", readsSource: false, writes: true };
standing.value = { state: "ready", computer: { open: async () => ({ facts, packed }), report: { device: {} } } };
const tokens = Array.from({ length: Number(new URLSearchParams(location.search).get("tokens")) }, (_, i) => "token" + i);
const Page = () => {
  const pinned = address.value.params.pin === undefined ? undefined : Number(address.value.params.pin);
  const sight = { name: "made-up", step: undefined, facts, text: "text", target: undefined, tokens, targetTokens: undefined, pinned, pin: () => {} };
  return <div class="stack"><TokenStrip tokens={tokens} label="Tokens" pinned={pinned} /><AttentionRoom sight={sight} /></div>;
};
render(<Page />, document.querySelector("main"));
`;

const each = (count, make) => Array.from({ length: count }, (_, i) => make(i));

/** What a model would answer, made when it is asked for. */
function answersOf(tokens, layers, heads) {
  const names = each(tokens, (i) => `token${i}`);
  const common = { tokens: names, targetTokens: names, kind: "self", kinds: ["self"], sizes: { layers, heads } };
  /** A causal pattern that differs from head to head. */
  const pattern = (seed) =>
    names.map((_, i) => {
      const row = names.map((_, j) => (j > i ? 0 : Math.exp(2 * Math.sin(seed + 0.37 * i * (j + 1)) - 0.02 * (i - j))));
      const sum = row.reduce((a, b) => a + b);
      return row.map((weight) => weight / sum);
    });
  const packedHead = (layer, head, side) => {
    const own = pattern(layer * heads + head);
    const { head: _, ...summary } = headStatisticsOf({ ...common, layers: [{ layer, heads: [{ head, pattern: own }] }] }).layers[0]
      .heads[0];
    const rows = side === undefined ? own : pooled(own, side).rows;
    return { head, ...packedWeights(rows, side === undefined ? 65535 : 255), summary };
  };
  const vectors = (seed) => packedFloats(names.map((_, i) => each(64, (d) => Math.sin(seed + i * (d + 1)))));
  return (name) => {
    if (name === "overview") {
      const all = each(layers, (layer) => ({ layer, heads: each(heads, (head) => packedHead(layer, head, 64)) }));
      return { ...common, side: Math.ceil(tokens / 64), layers: all };
    }
    const [, layer, head] = name.split("-").map(Number);
    const shown = head === undefined ? each(heads, (one) => packedHead(layer, one)) : [packedHead(layer, head)];
    const neurons = head === undefined ? {} : { vectors: { size: 64, scale: 1 / 8, q: vectors(layer), k: vectors(head) } };
    return { ...common, side: 1, layers: [{ layer, heads: shown }], ...neurons };
  };
}

async function served(tokens, layers, heads) {
  const { outputFiles } = await build({
    stdin: { contents: app, loader: "tsx", resolveDir: join(root, "studio") },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    plugins: [pageSystem()],
  });
  const style = await build({ entryPoints: [join(root, "studio/style.css")], bundle: true, write: false });
  const answers = answersOf(tokens, layers, heads);
  const known = new Map();
  const page = `<!doctype html><html lang="en"><title>speed</title><link rel="stylesheet" href="/style.css"><main></main><script type="module" src="/app.js"></script></html>`;
  const server = createServer(({ url }, answer) => {
    const path = url.split("?")[0];
    if (path === "/") return answer.setHeader("content-type", "text/html").end(page);
    if (path === "/app.js") return answer.setHeader("content-type", "text/javascript").end(outputFiles[0].text);
    if (path === "/style.css") return answer.setHeader("content-type", "text/css").end(style.outputFiles[0].text);
    if (!path.endsWith(".json")) return answer.writeHead(404).end();
    if (!known.has(path)) known.set(path, JSON.stringify(answers(path.slice(1, -5))));
    answer.setHeader("content-type", "application/json").end(known.get(path));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, known, address: `http://127.0.0.1:${server.address().port}/` };
}

/** Figures by what was done: the median, the slowest, and how many pictures took more than 50 ms. */
export async function attentionSpeed(browser, { tokens = 512, layers = 12, heads = 12 } = {}) {
  const { server, known, address } = await served(tokens, layers, heads);
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.on("pageerror", ({ message }) => console.error(message));
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const worked = async () => (await devtools.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
  /** Does something once for each number, and waits for the picture after it. `work` is what the page's thread did for each: other programs do not lengthen it. */
  const timed = async (count, action) => {
    const before = await worked();
    const times = await pictures(count, action);
    return { ...times, work: +((1000 * ((await worked()) - before)) / count).toFixed(1) };
  };
  const pictures = (count, action) =>
    page.evaluate(
      `(async () => {
        const picture = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        const act = ${action};
        const times = [];
        for (let i = 0; i < 10; i++) await picture();
        for (let i = 0; i < ${count}; i++) {
          const from = performance.now();
          act(i);
          await picture();
          times.push(performance.now() - from);
        }
        times.sort((a, b) => a - b);
        return { median: +times[Math.floor(times.length / 2)].toFixed(1), slowest: +times.at(-1).toFixed(1), over50: times.filter((time) => time > 50).length };
      })()`,
    );
  const over = (selector) =>
    `(i) => { const all = document.querySelectorAll(${JSON.stringify(selector)}); const one = all[(37 * i) % all.length];
      one.dispatchEvent(new PointerEvent("pointerover", { bubbles: true })); one.dispatchEvent(new PointerEvent("pointerenter")); }`;
  const scroll = (selector) => `(i) => { document.querySelector(${JSON.stringify(selector)}).scrollTop = 80 * i; }`;
  const ready = (selector) => page.waitForSelector(selector, { timeout: 120_000 });
  const rows = {};
  try {
    await page.goto(`${address}?tokens=${tokens}#look?layer=1&head=2`);
    await ready(".query-names [role=option]");
    await page.waitForTimeout(500);
    rows["pointing at queries"] = await timed(100, over(".query-names [role=option]"));
    rows["pointing at keys"] = await timed(100, over(".key-names [role=option]"));
    rows["pointing at the strip of tokens"] = await timed(100, over(".tokens button"));
    rows["pointing at small maps"] = await timed(100, over(".all-heads button"));
    rows["scrolling lines"] = await timed(100, scroll(".head-lines .scroller"));
    rows["scrolling the page"] = await timed(100, `(i) => scrollTo(0, 40 * (i % 30))`);
    rows["pinning a token"] = await timed(20, `(i) => document.querySelectorAll(".query-names [role=option]")[11 * i].click()`);
    rows["opening a head of the layer"] = await timed(heads, `(i) => document.querySelectorAll(".all-heads button")[${heads} + i].click()`);
    await page.click(".head-shapes button:nth-of-type(2)");
    await ready(".head-map .sheet");
    await page.waitForTimeout(500);
    rows["pointing at the map"] = await timed(
      100,
      `(i) => { const map = document.querySelector(".head-map .sheet"), box = map.getBoundingClientRect();
        map.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: box.left + 3 * i, clientY: box.top + 4 * i })); }`,
    );
    rows["opening a head as a map"] = await timed(heads, `(i) => document.querySelectorAll(".all-heads button")[${heads} + i].click()`);
    await page.click(".head-shapes button:nth-of-type(3)");
    await ready(".neurons table");
    await page.waitForTimeout(500);
    rows["pointing, dimension by dimension"] = await timed(100, over(".tokens button"));
    rows["opening another layer"] = await slowestWhile(page, async () => {
      await page.click(".head-shapes button:nth-of-type(1)");
      for (const layer of [2, 3, 4]) {
        await page.evaluate(`document.querySelectorAll(".all-heads button")[${layer * heads}].click()`);
        await page.waitForFunction(`document.querySelector(".one-head").getAttribute("aria-busy") === "false"`, undefined, {
          timeout: 120_000,
        });
      }
    });
  } finally {
    await page.close();
    server.close();
  }
  const bytes = (name) => known.get(`/${name}.json`)?.length;
  return { rows, bytes: { overview: bytes("overview"), layer: bytes("layer-1") } };
}

/** Pictures while something happens that takes its time: an answer comes, is read and drawn. */
async function slowestWhile(page, work) {
  await page.evaluate(
    `globalThis.frames_ = []; globalThis.going_ = true; (function next(before) { requestAnimationFrame((now) => { frames_.push(now - before); if (going_) next(now); }); })(performance.now())`,
  );
  await work();
  const times = (await page.evaluate("going_ = false, frames_")).sort((a, b) => a - b);
  return {
    median: +times[Math.floor(times.length / 2)].toFixed(1),
    slowest: +times.at(-1).toFixed(1),
    over50: times.filter((time) => time > 50).length,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [tokens = 512, layers = 12, heads = 12] = process.argv.slice(2).map(Number);
  const browser = await driver.launch({
    executablePath: await chromium.executablePath(),
    headless: true,
    args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
  });
  const { rows, bytes } = await attentionSpeed(browser, { tokens, layers, heads });
  await browser.close();
  console.log(
    `${tokens} tokens, ${layers} layers × ${heads} heads: all heads small ${(bytes.overview / 1e6).toFixed(1)} MB, a layer ${(bytes.layer / 1e6).toFixed(1)} MB`,
  );
  console.table(rows);
}
