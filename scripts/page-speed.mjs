// Measures the interactive page with 512 tokens in a real browser: how long it takes to open, to open another head, and to answer a pointer
// that moves over tokens, over the map and through the text. Every figure is the time until the next picture of the screen, in milliseconds.
// Usage: npm run build && node scripts/page-speed.mjs [tokens] [layers] [heads]
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { chromium as driver } from "playwright-core";
import { interactiveHtml } from "../dist/pictures/interactive-html.js";

const [tokens = 512, layers = 12, heads = 12] = process.argv.slice(2).map(Number);
const names = Array.from({ length: tokens }, (_, i) => `token${i}`);

/** A causal pattern that differs from head to head. */
const pattern = (seed) =>
  names.map((_, i) => {
    const row = names.map((_, j) => (j > i ? 0 : Math.exp(2 * Math.sin(seed + 0.37 * i * (j + 1)) - 0.02 * (i - j))));
    const sum = row.reduce((a, b) => a + b);
    return row.map((weight) => weight / sum);
  });
const vectors = (seed) => names.map((_, i) => Array.from({ length: 64 }, (_, d) => Math.sin(seed + i * (d + 1))));
const each = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const look = {
  tokens: names,
  targetTokens: names,
  kind: "self",
  layers: each(layers, (layer) => ({ layer, heads: each(heads, (head) => ({ head, pattern: pattern(layer * heads + head) })) })),
};
const queryKeys = { scale: 1 / 8, layers: each(layers, (l) => each(heads, (h) => ({ q: vectors(l + h), k: vectors(l - h) }))) };

const folder = mkdtempSync(join(tmpdir(), "qkv-page-"));
const file = join(folder, "page.html");
writeFileSync(file, interactiveHtml(look, "Speed", { vectors: [queryKeys] }));
const browser = await driver.launch({
  executablePath: await chromium.executablePath(),
  headless: true,
  args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
const start = performance.now();
await page.goto(`file://${file}`);
await page.waitForSelector("#query-0");
const opened = performance.now() - start;

/** Does something once for each number, and waits for the picture after it. */
const timed = (count, action) =>
  page.evaluate(
    `(async () => {
      const picture = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      const act = ${action};
      const times = [];
      await picture();
      for (let i = 0; i < ${count}; i++) {
        const from = performance.now();
        act(i);
        await picture();
        times.push(performance.now() - from);
      }
      times.sort((a, b) => a - b);
      return { median: times[Math.floor(times.length / 2)].toFixed(1), slowest: times[times.length - 1].toFixed(1) };
    })()`,
  );
const hover = (side) =>
  `(i) => document.getElementById("${side}-" + ((37 * i) % ${tokens})).dispatchEvent(new PointerEvent("pointerover", { bubbles: true }))`;
const rows = {
  "pointing at queries": await timed(100, hover("query")),
  "pointing at keys": await timed(100, hover("key")),
  "pointing at the map": await timed(
    100,
    `(i) => { const map = document.getElementById("map"), box = map.getBoundingClientRect();
      map.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 3 * i, clientY: box.top + 4 * i })); }`,
  ),
  scrolling: await timed(100, `(i) => { document.getElementById("head-scroller").scrollTop = 80 * i; }`),
  "opening a head": await timed(20, `(i) => document.querySelectorAll("#overview button")[(7 * i) % ${layers * heads}].click()`),
};
await browser.close();
console.log(
  `${tokens} tokens, ${layers} layers × ${heads} heads: ${(statSync(file).size / 1e6).toFixed(1)} MB, opened in ${opened.toFixed(0)} ms`,
);
console.table(rows);
rmSync(folder, { recursive: true });
