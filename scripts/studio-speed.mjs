// How fast the studio is there, from the local command, in the browser that npm brings: the first paint, when it can be used, the longest task on the
// page's thread while a model learns, and what of ours is loaded. Milliseconds, best | median of several visits. What pointing and scrolling take at 512 tokens and
// 20 runs is measured by studio-attention-speed.mjs and studio-compare-speed.mjs. Usage: npm run build && node scripts/studio-speed.mjs [visits]
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { root, startBrowser, startStudio, temporaryFolder } from "./studio-browser.mjs";

const [visits = 7] = process.argv.slice(2).map(Number);
const { folder, remove } = temporaryFolder();
const studio = await startStudio(folder);
const browser = await startBrowser();
const found = { paint: [], usable: [], learning: [] };
let longest = 0;
for (let visit = 0; visit < visits; visit++) {
  const page = await (await browser.newContext()).newPage(); // nothing is cached
  await page.addInitScript(
    `globalThis.tasks = []; new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask", buffered: true });`,
  );
  const begin = performance.now();
  await page.goto(studio.url, { waitUntil: "commit" });
  await page.getByRole("heading", { name: "first-steps" }).waitFor();
  found.usable.push(performance.now() - begin);
  await page.getByRole("progressbar", { name: "Steps taken" }).waitFor();
  while (!(await page.evaluate(`document.querySelector("progress")?.value > 0`))) await page.waitForTimeout(20);
  found.learning.push(performance.now() - begin);
  found.paint.push(await page.evaluate(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime`));
  if (visit === 0) await page.waitForTimeout(10_000); // it learns meanwhile
  longest = Math.max(longest, ...(await page.evaluate("tasks.slice(1)")), 0); // the first is the app's own start
  await page.context().close();
}
const middle = (all) => all.toSorted((a, b) => a - b)[all.length >> 1];
for (const [name, all] of Object.entries(found))
  console.log(`${name.padEnd(9)} ${Math.min(...all).toFixed(0)} | ${middle(all).toFixed(0)} ms`);
console.log(`longest task while a model learns: ${longest === 0 ? "none above 50" : longest.toFixed(0)} ms`);
const app = join(root, "dist/app");
const sizes = readdirSync(app)
  .filter((name) => /\.(js|css|html)$/.test(name))
  .map((name) => [name, gzipSync(readFileSync(join(app, name))).length]);
console.log(`the app: ${(sizes.reduce((sum, [, bytes]) => sum + bytes, 0) / 1000).toFixed(0)} KB gzipped in ${sizes.length} files`);
await browser.close();
await studio.stop();
remove();
