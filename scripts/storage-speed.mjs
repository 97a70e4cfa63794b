// Measures the storage of a page in a real browser with a profile on the disk: bytes written, synced and read a second, what a sync of a small file
// and of nothing costs, a checkpoint of 10 MB (hashed, written, synced, named), SHA-256, and how long mounting takes.
// Usage: node scripts/storage-speed.mjs [megabytes] [a browser's program]
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium as driver } from "playwright-core";
import { pageSystem } from "./page-system.mjs";

const [megabytes = 200, program] = process.argv.slice(2);
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "qkv-storage-"));

const code = `
import { closeSync, fsyncSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { createHash } from "node:crypto";
import { Checkpoints } from "./src/disk/checkpoints.ts";
import { writeDurably } from "./src/disk/files.ts";
import { mountStorage } from "./src/web/storage/mount.ts";

const now = () => performance.now();
const timed = (work) => { const from = now(); work(); return now() - from; };
const best = (count, work) => Math.min(...Array.from({ length: count }, (_, i) => timed(() => work(i))));
const median = (count, work) => Array.from({ length: count }, (_, i) => timed(() => work(i))).sort((a, b) => a - b)[count >> 1];

onmessage = async ({ data: megabytes }) => {
  const from = now();
  const storage = await mountStorage({ name: "speed", storage: "kept" });
  const mounting = now() - from;
  const piece = crypto.getRandomValues(new Uint32Array(2 ** 14));
  const bytes = new Uint8Array(2 ** 22);
  for (let at = 0; at < bytes.length; at += piece.byteLength) bytes.set(new Uint8Array(piece.buffer), at);
  const pieces = Math.round(megabytes * 1e6 / bytes.length);
  const rate = (time) => pieces * bytes.length / 1e3 / time;
  const file = openSync("/large", "w");
  const written = timed(() => { for (let i = 0; i < pieces; i++) writeSync(file, bytes); });
  const synced = timed(() => fsyncSync(file));
  closeSync(file);
  const reading = openSync("/large", "r");
  const read = timed(() => { for (let i = 0; i < pieces; i++) readSync(reading, bytes, 0, bytes.length, i * bytes.length); });
  closeSync(reading);
  rmSync("/large");
  const small = median(30, (i) => writeDurably("/small.json", JSON.stringify({ i })));
  const checkpoints = new Checkpoints("/run/checkpoints");
  const state = new Map([["weights.safetensors", [bytes]], ["optimizer.safetensors", [bytes, bytes.subarray(0, 1_600_000)]], ["place.json", [new Uint8Array(300)]]]);
  const checkpoint = median(10, (i) => { bytes[0] = i; checkpoints.save(i, state); checkpoints.prune(2); });
  const hashed = best(5, () => { const hash = createHash("sha256"); for (let i = 0; i < 8; i++) hash.update(bytes); hash.digest("hex"); });
  const closing = timed(() => storage.close());
  const again = now();
  const second = await mountStorage({ name: "speed", storage: "kept" });
  const mountingAgain = now() - again;
  second.close();
  postMessage({
    "MB/s written": rate(written), "MB/s written and synced": rate(written + synced), "MB/s read": rate(read), "MB/s of SHA-256": 8 * bytes.length / 1e3 / hashed,
    "ms a durable small file": small, "ms a checkpoint of 10 MB": checkpoint, "ms to mount, new": mounting, "ms to mount again": mountingAgain, "ms to close": closing,
  });
};
`;

const { outputFiles } = await build({
  stdin: { contents: code, resolveDir: root, loader: "ts" },
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  write: false,
  minify: true,
  plugins: [pageSystem()],
});

const server = createServer(({ url }, response) => {
  const js = url === "/worker.js";
  response.writeHead(200, { "content-type": js ? "text/javascript" : "text/html" });
  response.end(js ? outputFiles[0].contents : "<!doctype html>");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const executablePath = program ?? (await (await import("@sparticuz/chromium")).default.executablePath());
const context = await driver.launchPersistentContext(join(folder, "profile"), {
  executablePath,
  headless: true,
  args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
try {
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const figures = await page.evaluate(
    (size) =>
      new Promise((resolve, reject) => {
        const worker = new Worker("/worker.js", { type: "module" });
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = ({ message }) => reject(new Error(message));
        worker.postMessage(size);
      }),
    Number(megabytes),
  );
  console.log(`${await page.evaluate(() => navigator.userAgent)}\n${outputFiles[0].contents.length} bytes of script`);
  for (const [what, value] of Object.entries(figures)) console.log(`${what.padEnd(28)} ${value.toFixed(value < 100 ? 1 : 0)}`);
} finally {
  await context.close();
  server.close();
  rmSync(folder, { recursive: true, force: true });
}
