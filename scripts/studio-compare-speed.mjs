// Measures the studio's Compare with 20 runs of 10,000 points each in a real browser, served from this machine: how long the table and the chart
// take to appear, and the longest picture of the screen while somebody points along the chart, in milliseconds; pointing must stay under 50.
// Usage: npm run build && node scripts/studio-compare-speed.mjs [runs] [points]
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import chromium from "@sparticuz/chromium";
import { chromium as driver } from "playwright-core";
import { train } from "../dist/entries/qkv.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const [count = 20, points = 10_000] = process.argv.slice(2).map(Number);
const folder = mkdtempSync(join(tmpdir(), "qkv-compare-"));

/** One run is trained; the others are the same with another learning rate and a log that was made up. */
async function makeRuns() {
  const base = join(folder, "run-0");
  const text = "the whale and the sea and the ship ".repeat(200);
  const model = { layers: 1, heads: 2, width: 16, context: 16 };
  const trained = await train([{ text }], { out: base, task: "lm", model, steps: 2, batch: 2, warn: false });
  await trained.release();
  for (let i = 0; i < count; i++) {
    const run = join(folder, `run-${i}`);
    if (i > 0) cpSync(base, run, { recursive: true });
    const config = JSON.parse(readFileSync(join(run, "config.json"), "utf8"));
    config.training = { ...config.training, steps: points, lr: 0.001 * (1 + (i % 3)) };
    writeFileSync(join(run, "config.json"), JSON.stringify(config));
    const line = (step) => ({
      step,
      loss: 1.2 + 3 * Math.exp(-step / (400 + 80 * i)) + 0.1 * Math.sin(step * (i + 1.7)),
      lr: 0.001,
      norm: 1,
    });
    writeFileSync(join(run, "log.jsonl"), Array.from({ length: points }, (_, k) => `${JSON.stringify(line(k + 1))}\n`).join(""));
  }
}

/** The studio on this machine, and its address. */
async function started() {
  const house = spawn(process.execPath, [join(root, "dist/cli/main.js"), "studio", folder, "--port", "0", "--no-open", "--json"]);
  const first = await new Promise((resolve, reject) => {
    house.stdout.once("data", (data) => resolve(JSON.parse(String(data))));
    house.once("exit", () => reject(new Error("the studio ended")));
  });
  return { house, url: first.url };
}

await makeRuns();
const { house, url } = await started();
const browser = await driver.launch({
  executablePath: await chromium.executablePath(),
  args: ["--no-sandbox", "--disable-gpu"],
  headless: true,
});
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const begin = performance.now();
  await page.goto(`${url}#compare`);
  await page
    .locator(".runs tbody tr")
    .nth(count - 1)
    .waitFor();
  const table = performance.now() - begin;
  const picked = performance.now();
  await page.getByRole("button", { name: "Pick these" }).click();
  await page.locator(".overlay canvas").first().waitFor();
  const chart = performance.now() - picked;
  const box = await page.locator(".overlay canvas").first().boundingBox();
  /** Points along the chart, and gives how long the pictures of the screen took meanwhile. */
  const pointed = async () => {
    await page.evaluate(() => {
      globalThis.frames = [];
      let last = performance.now();
      const tick = (now) => {
        globalThis.frames.push(now - last);
        last = now;
        requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    });
    for (let i = 0; i < 200; i++) await page.mouse.move(box.x + 60 + 5 * i, box.y + 40 + 4 * (i % 60));
    const frames = (await page.evaluate(() => globalThis.frames)).sort((a, b) => a - b);
    const rounded = (value) => Number(value.toFixed(1));
    return { frames: frames.length, median: rounded(frames[frames.length >> 1]), worst: rounded(frames[frames.length - 1]) };
  };
  const arriving = await pointed(); // the logs come meanwhile, and are drawn once at the end
  await page.waitForTimeout(3000);
  console.log(
    JSON.stringify({ runs: count, points, tableMs: Math.round(table), chartMs: Math.round(chart), arriving, pointing: await pointed() }),
  );
} finally {
  await browser.close();
  house.kill();
  rmSync(folder, { recursive: true, force: true });
}
