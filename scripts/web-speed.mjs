// The W1 training step in a page (1 and 2 threads) beside Node, TensorFlow.js and jax-js in the same minutes; then tokens a second, memory and bytes. All
// contestants take turns in one browser, each in a worker of its own; times are milliseconds, best | median, and the processor's own where a machine is noisy.
// The competitors are installed into a temporary folder. Usage: npm run build && node scripts/web-speed.mjs [rounds] [steps in a round]
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import chromium from "@sparticuz/chromium";
import { build } from "esbuild";
import { chromium as driver } from "playwright-core";
import { trainingStep } from "../dist/bench/workload-step.js";
import { workloads } from "../dist/bench/workloads.js";
import { nodeDevice } from "../dist/node/device.js";

const [rounds = 8, count = 5] = process.argv.slice(2).map(Number);
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "qkv-web-speed-"));
const modules = join(folder, "node_modules");
writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }');
const rivals = ["@tensorflow/tfjs@4.22.0", "@tensorflow/tfjs-backend-wasm@4.22.0", "@jax-js/jax@0.1.25"];
execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...rivals], { cwd: folder, stdio: "ignore" });

const script = async (name) => {
  const entryPoints = [join(root, "scripts/web-speed", `${name}.mjs`)];
  const options = { bundle: true, minify: true, write: false, format: "esm", platform: "browser", target: "es2022", logLevel: "error" };
  const { outputFiles } = await build({ entryPoints, nodePaths: [modules], define: { global: "globalThis" }, ...options });
  return outputFiles[0].contents;
};
const page = `<!doctype html><script type="module">
  const workers = new Map();
  let calls = 0;
  globalThis.call = (who, file, name, options) => new Promise((resolve, reject) => {
    const worker = workers.get(who) ?? new Worker(file, { type: "module" });
    workers.set(who, worker);
    const id = ++calls;
    const hear = ({ data }) => {
      if (data.id !== id) return;
      worker.removeEventListener("message", hear);
      data.error === undefined ? resolve(data.result) : reject(new Error(data.error));
    };
    worker.addEventListener("message", hear);
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.postMessage({ id, name, options });
  });
  globalThis.end = (who) => { workers.get(who)?.terminate(); workers.delete(who); };
</script>`;
const files = { "/": page };
for (const name of ["qkv", "tensorflow", "jax"]) files[`/${name}.js`] = await script(name);
const ort = join(root, "node_modules/onnxruntime-web/dist");
const places = { "/ort/": ort, "/tfjs/": join(modules, "@tensorflow/tfjs-backend-wasm/wasm-out") };
const types = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", "": "text/html" };
const server = createServer(({ url }, answer) => {
  const path = url.split("?")[0];
  const place = Object.keys(places).find((start) => path.startsWith(start));
  const file = place && join(places[place], path.slice(place.length));
  answer.setHeader("cross-origin-opener-policy", "same-origin").setHeader("cross-origin-embedder-policy", "require-corp");
  answer.setHeader("content-type", types[extname(path)] ?? "application/octet-stream");
  if (files[path]) return answer.end(files[path]);
  if (!file || !existsSync(file)) return answer.writeHead(404).end();
  answer.end(readFileSync(file));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${server.address().port}`;

process.env.AWS_LAMBDA_JS_RUNTIME ??= "nodejs20.x";
const browser = await driver.launch({
  executablePath: await chromium.executablePath(),
  headless: true,
  args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
const tab = await browser.newPage();
await tab.goto(`${address}/`);
const call = (who, file, name, options = {}) =>
  tab.evaluate(`call(${JSON.stringify(who)}, ${JSON.stringify(file)}, ${JSON.stringify(name)}, ${JSON.stringify(options)})`);

/** Seconds of the processor that all processes below this one have used, and their memory. */
function below() {
  const parents = new Map();
  const own = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /, "")
        .split(" ");
      parents.set(pid, fields[1]);
      own.set(pid, { seconds: (Number(fields[11]) + Number(fields[12])) / 100, bytes: 4096 * Number(fields[21]) });
    } catch {} // it ended meanwhile
  }
  const mine = [...own.keys()].filter((pid) => {
    for (let at = parents.get(pid); at !== undefined; at = parents.get(at)) if (at === String(process.pid)) return true;
    return false;
  });
  const sum = (key) => mine.reduce((total, pid) => total + own.get(pid)[key], 0);
  return { seconds: sum("seconds"), bytes: sum("bytes") };
}

const web = (label, file, options) => ({
  label,
  prepare: () => call(label, file, "prepare", options),
  async steps() {
    const before = below().seconds;
    const { times, loss } = await call(label, file, "steps", { count });
    return { times, loss, cpu: (1000 * (below().seconds - before)) / count };
  },
});
const node = (threads) => {
  let step;
  return {
    label: `Node, ${threads} thread${threads > 1 ? "s" : ""}`,
    async prepare() {
      step = await trainingStep(workloads[0], nodeDevice({ threads }));
      return { first: await step.run(), about: "qkv on onnxruntime-node" };
    },
    async steps() {
      const before = process.cpuUsage();
      const times = [];
      let loss = 0;
      for (let i = 0; i < count; i++) {
        const from = performance.now();
        loss = await step.run();
        times.push(performance.now() - from);
      }
      const { user, system } = process.cpuUsage(before);
      return { times, loss, cpu: (user + system) / 1000 / count };
    },
  };
};
const contestants = [
  node(1),
  node(2),
  web("page, 1 thread", "/qkv.js", { threads: 1, folder: "/ort/" }),
  web("page, 2 threads", "/qkv.js", { threads: 2, folder: "/ort/" }),
  web("jax-js", "/jax.js", {}),
  web("TensorFlow.js, 1 thread", "/tensorflow.js", { threads: 1, folder: "/tfjs/" }),
  web("TensorFlow.js, 2 threads", "/tensorflow.js", { threads: 2, folder: "/tfjs/" }),
];
const rest = () => new Promise((resolve) => setTimeout(resolve, 200)); // threads of the one before spin for a while
const results = new Map();
for (const one of contestants) {
  try {
    const { first, about } = await one.prepare();
    results.set(one, { times: [], cpu: [], first, about });
    console.log(`${one.label}: ${about}; first loss ${first.toFixed(4)}`);
  } catch (error) {
    console.log(`${one.label}: ${error.message.split("\n").slice(0, 3).join(" ")}`);
  }
}
for (let round = 0; round < rounds; round++)
  for (const [one, result] of results) {
    await rest();
    const { times, loss, cpu } = await one.steps();
    result.times.push(...times);
    result.cpu.push(cpu);
    result.loss = loss;
  }
const sorted = (numbers) => numbers.toSorted((a, b) => a - b);
const middle = (numbers) => sorted(numbers)[numbers.length >> 1];
console.log("\nW1, a training step: ms best | median (the processor's ms, best), loss at the end");
for (const [{ label }, { times, cpu, loss }] of results)
  console.log(
    `${label.padEnd(26)} ${Math.min(...times).toFixed(1)} | ${middle(times).toFixed(1)} (${Math.min(...cpu).toFixed(0)})  ${loss.toFixed(3)}`,
  );
const best = (label) => Math.min(...([...results].find(([one]) => one.label === label)?.[1].times ?? [Number.NaN]));
const ours = Math.min(best("page, 1 thread"), best("page, 2 threads"));
const theirs = Math.min(best("TensorFlow.js, 1 thread"), best("TensorFlow.js, 2 threads"));
console.log(`best over best: jax-js / qkv ${(best("jax-js") / ours).toFixed(2)}, TensorFlow.js / qkv ${(theirs / ours).toFixed(2)}`);

for (const [one] of results) await tab.evaluate(`end(${JSON.stringify(one.label)})`);
console.log("\nWriting, one row: tokens/s best | median, and memory of the browser while it does");
const small = "page, writing";
await call(small, "/qkv.js", "prepare", { threads: 1, folder: "/ort/" });
for (const [preset, tokens] of [
  ["w1", 50],
  ["gpt2", 30],
]) {
  try {
    const { times } = await call(small, "/qkv.js", "write", { preset, tokens, folder: "/ort/" });
    const megabytes = (below().bytes / 2 ** 20).toFixed(0);
    console.log(
      `${preset.padEnd(6)} ${(1000 / Math.min(...times)).toFixed(1)} | ${(1000 / middle(times)).toFixed(1)}, ${megabytes} MiB in all processes`,
    );
  } catch (error) {
    console.log(`${preset}: ${error.message.split("\n")[0]}`);
  }
}

console.log("\nBytes that are loaded: plain, gzip, brotli");
const weighed = (name, bytes) => {
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
  console.log(
    `${name.padEnd(40)} ${[bytes.length, gzipSync(bytes, { level: 9 }).length, brotli.length].map((n) => n.toLocaleString("en")).join("  ")}`,
  );
};
weighed("qkv.js of this script", Buffer.from(files["/qkv.js"]));
weighed("tensorflow.js of this script", Buffer.from(files["/tensorflow.js"]));
weighed("jax.js of this script", Buffer.from(files["/jax.js"]));
for (const name of readdirSync(ort).filter((file) =>
  /^(ort\.(wasm|webgpu)\.min|ort-wasm-simd-threaded(\.asyncify)?)\.(mjs|wasm)$/.test(file),
))
  weighed(name, readFileSync(join(ort, name)));
weighed("tfjs-backend-wasm-threaded-simd.wasm", readFileSync(join(places["/tfjs/"], "tfjs-backend-wasm-threaded-simd.wasm")));

await browser.close();
server.close();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
