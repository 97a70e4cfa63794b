// What a server of models does under load, on this machine: `node scripts/serve-load.mjs [--model book|gpt2|small|<folder>] [--seconds 300] [--streams 256]
// [--memory 4GB] [--tokens 32] [--prompts short] [--only throughput|chaos] [--json]`. It makes the model if need be (a small one trained for half a minute, or GPT-2's sizes with random weights), starts the real command,
// asks every question once alone, measures 1, 4, 8, 16 and 32 streams, and then lets many clients ask at once, a third of which leave
// at a random moment and a tenth of which send nonsense. Every other answer must be the one that the question gets alone.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";

const root = new URL("..", import.meta.url).pathname;
const main = join(root, "dist/cli/main.js");
const { values: flags } = parseArgs({
  options: {
    model: { type: "string", default: "book" },
    seconds: { type: "string", default: "300" },
    streams: { type: "string", default: "256" },
    tokens: { type: "string", default: "32" },
    memory: { type: "string", default: "4GB" },
    rows: { type: "string" },
    threads: { type: "string" },
    share: { type: "string", default: "yes" },
    prompts: { type: "string", default: "usual" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const say = (text) => console.error(text);

// ---- the model

/** A small GPT that has read Moby-Dick for half a minute. */
function bookModel(folder) {
  const size = "--layers 4 --heads 4 --width 128 --context 256 --steps 300 --batch 8".split(" ");
  execFileSync(process.execPath, [main, "train", join(root, "data/moby-dick.txt"), ...size, "--out", folder, "--quiet"], {
    stdio: "inherit",
  });
}

/** GPT-2's sizes with random weights, as a folder of Hugging Face. */
function gpt2Model(folder) {
  const work = mkdtempSync(join(tmpdir(), "qkv-load-"));
  const tiny = "--layers 1 --heads 1 --width 16 --context 16 --steps 1 --tokenizer bpe --vocab 8192".split(" ");
  execFileSync(process.execPath, [main, "train", join(root, "data/moby-dick.txt"), ...tiny, "--out", join(work, "run"), "--quiet"], {
    stdio: "inherit",
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "tokenizer.json"), readFileSync(join(work, "run/tokenizer.json")));
  rmSync(work, { recursive: true });
  const [width, layers, vocab, context] = [768, 12, 50257, 256];
  const config = {
    model_type: "gpt2",
    architectures: ["GPT2LMHeadModel"],
    n_embd: width,
    n_layer: layers,
    n_head: 12,
    n_positions: context,
    n_ctx: context,
    vocab_size: vocab,
  };
  const more = { activation_function: "gelu_new", layer_norm_epsilon: 1e-5, tie_word_embeddings: true, bos_token_id: 1, eos_token_id: 1 };
  writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, ...more }));
  const norm = (name) => [
    [`${name}.weight`, [width], 1],
    [`${name}.bias`, [width], 0],
  ];
  const dense = (name, from, to) => [
    [`${name}.weight`, [from, to]],
    [`${name}.bias`, [to], 0],
  ];
  const block = (i) => [
    ...norm(`h.${i}.ln_1`),
    ...dense(`h.${i}.attn.c_attn`, width, 3 * width),
    ...dense(`h.${i}.attn.c_proj`, width, width),
    ...norm(`h.${i}.ln_2`),
    ...dense(`h.${i}.mlp.c_fc`, width, 4 * width),
    ...dense(`h.${i}.mlp.c_proj`, 4 * width, width),
  ];
  const tensors = [
    ["wte.weight", [vocab, width]],
    ["wpe.weight", [context, width]],
    ...Array.from({ length: layers }, (_, i) => block(i)).flat(),
    ...norm("ln_f"),
  ];
  const header = {};
  let at = 0;
  for (const [name, shape] of tensors) {
    const bytes = 4 * shape.reduce((a, b) => a * b, 1);
    header[name] = { dtype: "F32", shape, data_offsets: [at, at + bytes] };
    at += bytes;
  }
  const head = Buffer.from(JSON.stringify(header));
  const file = openSync(join(folder, "model.safetensors"), "w");
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(head.length));
  writeSync(file, length);
  writeSync(file, head);
  let state = 12345;
  const normal = () => {
    let sum = -3;
    for (let i = 0; i < 6; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      sum += state / 2 ** 32;
    }
    return sum * Math.SQRT2;
  };
  for (const [name, shape, constant] of tensors) {
    const numbers = new Float32Array(shape.reduce((a, b) => a * b, 1));
    if (constant !== undefined) numbers.fill(constant);
    else for (let i = 0; i < numbers.length; i++) numbers[i] = (name.startsWith("wte") ? 0.1 : 0.05) * normal();
    writeSync(file, Buffer.from(numbers.buffer));
  }
}

/** One that is trained in seconds, for tests. */
function smallModel(folder) {
  const size = "--layers 2 --heads 2 --width 32 --context 256 --steps 20 --batch 4 --threads 1".split(" ");
  execFileSync(process.execPath, [main, "train", join(root, "data/moby-dick.txt"), ...size, "--out", folder, "--quiet"], {
    stdio: "inherit",
  });
}

const makers = { book: bookModel, gpt2: gpt2Model, small: smallModel };
const folder =
  flags.model in makers
    ? join(flags.model === "small" ? mkdtempSync(join(tmpdir(), "qkv-load-")) : tmpdir(), `qkv-load-${flags.model}`)
    : flags.model;
if (!existsSync(join(folder, "config.json"))) {
  say(`making ${folder}`);
  makers[flags.model](folder);
}

// ---- the server

const log = join(tmpdir(), `qkv-load-${process.pid}.log`);
const more = [
  ...(flags.rows ? ["--rows", flags.rows] : []),
  ...(flags.threads ? ["--threads", flags.threads] : []),
  ...(flags.share === "no" ? ["--no-share"] : []),
];
const server = spawn(
  process.execPath,
  [
    main,
    "serve",
    `model=${folder}`,
    "--port",
    "0",
    "--json",
    "--memory",
    flags.memory,
    "--max-waiting",
    "1024",
    "--queue-seconds",
    "600",
    ...more,
  ],
  {
    stdio: ["ignore", "pipe", openSync(log, "w")],
  },
);
process.on("exit", () => server.kill("SIGKILL"));
const { port } = await new Promise((resolve, reject) => {
  server.stdout.once("data", (text) => resolve(JSON.parse(text)));
  server.once("exit", () => reject(new Error(readFileSync(log, "utf8"))));
});
const childPid = Number(/"event":"ready".*"pid":(\d+)/.exec(readFileSync(log, "utf8"))?.[1]);
const agent = new Agent({ keepAlive: true, maxSockets: 2000 });
const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
const memory = () => ({ server: rss(server.pid), model: rss(childPid) });
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/** Asks; gives status, text, whether the answer is whole, and when its tokens came. `leave`: after so many events the client goes. */
function ask(body, { leave, raw } = {}) {
  return new Promise((resolve) => {
    const began = performance.now();
    const found = { status: 0, text: "", whole: false, first: undefined, tokens: 0, error: undefined };
    const done = () => resolve({ ...found, seconds: (performance.now() - began) / 1000 });
    const sent = request(
      { port, host: "127.0.0.1", path: "/v1/completions", method: "POST", agent, headers: { "Content-Type": "application/json" } },
      (answer) => {
        found.status = answer.statusCode;
        let rest = "";
        answer.setEncoding("utf8");
        answer.on("data", (text) => {
          rest += text;
          for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
            const event = rest.slice(0, end);
            rest = rest.slice(end + 2);
            if (!event.startsWith("data: ")) continue;
            if (event === "data: [DONE]") found.whole = true;
            else {
              const { choices, usage, error } = JSON.parse(event.slice(6));
              if (error) found.error = error.message;
              else if (choices.length > 0) {
                found.first ??= (performance.now() - began) / 1000;
                found.text += choices[0].text;
              }
              if (usage) found.tokens = usage.completion_tokens;
            }
            if (leave !== undefined && --leave <= 0) sent.destroy();
          }
        });
        answer.on("error", () => {});
        answer.on("close", done);
      },
    );
    sent.on("error", (error) => {
      found.error ??= error.code;
    });
    sent.on("close", done);
    sent.end(raw ?? JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }));
    if (leave === 0) setTimeout(() => sent.destroy(), Math.random() * 2000);
  });
}

// ---- the questions: some with a beginning in common, prompts of at most 128 tokens

const book = readFileSync(join(root, "data/moby-dick.txt"), "utf8").replace(/\s+/g, " ");
const isBook = !existsSync(join(folder, "model.safetensors")) || flags.model !== "gpt2";
const piece = (i, length) => book.slice(50_000 + 3000 * i, 50_000 + 3000 * i + length);
const system = piece(300, isBook ? 60 : 150);
const tokens = Number(flags.tokens);
const questions = Array.from({ length: 32 }, (_, i) => {
  if (flags.prompts === "short") return { prompt: piece(i, 12), max_tokens: tokens, temperature: 0 };
  const own = piece(i, 5 + ((i * 37) % (isBook ? 60 : 250)));
  const prompt = i % 2 === 0 ? system + own : own;
  return {
    prompt,
    max_tokens: i % 5 === 0 ? Math.ceil(tokens / 2) : tokens,
    ...(i % 4 === 3 && isBook ? { temperature: 0.8, seed: i } : { temperature: 0 }),
  };
});
const bad = [
  "{",
  "",
  '{"prompt": 3}',
  '{"prompt":"a","max_tokens":-1}',
  '{"prompt":"a","model":"none"}',
  '{"prompt":"a","wings":2}',
  "[]",
  JSON.stringify({ prompt: "a".repeat(200_000) }),
];

say("asking each question alone");
const alone = [];
for (const question of questions) alone.push(await ask(question));
if (alone.some(({ whole }) => !whole))
  throw new Error(`an answer alone is not whole: ${JSON.stringify(alone.find(({ whole }) => !whole))}`);
await sleep(3);
const before = memory();
const results = { model: flags.model, memoryBefore: before };

// ---- throughput

async function throughput(streams, seconds) {
  const until = performance.now() + 1000 * seconds;
  const firsts = [];
  let written = 0;
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: streams }, async () => {
      while (performance.now() < until) {
        const { tokens: count, first } = await ask(questions[next++ % questions.length]);
        written += count;
        firsts.push(first);
      }
    }),
  );
  const rate = written / ((performance.now() - began) / 1000);
  firsts.sort((a, b) => a - b);
  return {
    streams,
    tokensPerSecond: rate,
    firstTokenMedian: firsts[firsts.length >> 1],
    firstToken95: firsts[Math.floor(0.95 * firsts.length)],
  };
}

if (flags.only !== "chaos") {
  results.throughput = [];
  for (const streams of [1, 4, 8, 16, 32]) {
    const one = await throughput(streams, Number(flags.seconds) >= 100 ? 20 : 3);
    one.multiple = one.tokensPerSecond / (results.throughput[0]?.tokensPerSecond ?? one.tokensPerSecond);
    results.throughput.push(one);
    say(
      `${streams} streams: ${one.tokensPerSecond.toFixed(1)} tokens/s (${one.multiple.toFixed(2)} ×), first token ${one.firstTokenMedian.toFixed(3)} s (median), ${one.firstToken95.toFixed(3)} s (95 %)`,
    );
  }
}

// ---- everybody at once; a little of it first, so that what a server takes at its busiest is there before it is measured

await throughput(Number(flags.streams), Number(flags.seconds) >= 100 ? 15 : 3);
await sleep(4);
/** A number of /metrics. */
const gaugeOf = async (name) => {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "m").exec(metrics)?.[1]);
};
const kept = async () => (await gaugeOf("qkv_cache_bytes")) / 2 ** 20;
results.memoryWarm = { ...memory(), kept: await kept() };

const health = new Worker(
  `const { parentPort, workerData } = require("node:worker_threads");
   const { get } = require("node:http");
   const times = []; let stop = false; let failed = 0;
   parentPort.on("message", () => { stop = true; });
   (async () => {
     while (!stop) {
       const began = performance.now();
       await new Promise((resolve) => get({ port: workerData, host: "127.0.0.1", path: "/health" }, (a) => { if (a.statusCode !== 200) failed++; a.resume(); a.on("end", resolve); }).on("error", () => { failed++; resolve(); }));
       times.push(performance.now() - began);
       await new Promise((resolve) => setTimeout(resolve, 50));
     }
     times.sort((a, b) => a - b);
     parentPort.postMessage({ asked: times.length, failed, median: times[times.length >> 1], worst: times.at(-1), p99: times[Math.floor(times.length * 0.99)] });
   })();`,
  { eval: true, workerData: port },
);
const counts = { whole: 0, equal: 0, ties: 0, different: 0, left: 0, refused: 0, wrongStatus: 0, broken: 0 };
const firsts = [];
const differing = [];
const until = performance.now() + 1000 * Number(flags.seconds);
let asked = 0;
await Promise.all(
  Array.from({ length: Number(flags.streams) }, async () => {
    while (performance.now() < until) {
      const at = Math.random();
      if (at < 0.1) {
        const { status } = await ask(undefined, { raw: bad[asked++ % bad.length] });
        if (status >= 400 && status < 500) counts.refused++;
        else counts.wrongStatus++;
      } else if (at < 0.1 + 1 / 3) {
        await ask(questions[asked++ % questions.length], { leave: Math.floor(Math.random() * 20) });
        counts.left++;
      } else {
        const which = asked++ % questions.length;
        const found = await ask(questions[which]);
        if (!found.whole) {
          counts.broken++;
          differing.push({ which, ...found });
          continue;
        }
        counts.whole++;
        firsts.push(found.first);
        if (found.text === alone[which].text) counts.equal++;
        else {
          counts.different++;
          differing.push({ which, text: found.text });
        }
      }
    }
  }),
);
health.postMessage("stop");
results.health = await new Promise((resolve) => health.once("message", resolve));
await health.terminate();
firsts.sort((a, b) => a - b);
results.firstTokenUnderLoad = { median: firsts[firsts.length >> 1], p95: firsts[Math.floor(0.95 * firsts.length)] };

/** Whether an answer left the one that is given alone at two tokens that are as likely as each other, within 1e-4. */
async function isTie({ which, text }) {
  const { prompt, max_tokens } = questions[which];
  if (questions[which].temperature !== 0) return false;
  const body = JSON.stringify({ prompt, max_tokens, temperature: 0, logprobs: 2 });
  const answer = await fetch(`http://127.0.0.1:${port}/v1/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
  });
  const { logprobs } = (await answer.json()).choices[0];
  let at = 0;
  while (at < text.length && text[at] === alone[which].text[at]) at++;
  const place = logprobs.text_offset.findLastIndex((offset) => offset <= at);
  return [place, place + 1, place - 1].some((i) => {
    const [a, b] = Object.values(logprobs.top_logprobs[i] ?? {});
    return b !== undefined && Math.abs(a - b) < 1e-4;
  });
}
const checked = new Map();
for (const one of differing.filter(({ text, whole }) => whole === undefined && text !== undefined)) {
  const key = `${one.which} ${one.text}`;
  if (!checked.has(key)) checked.set(key, await isTie(one));
  if (checked.get(key)) {
    counts.ties++;
    counts.different--;
  }
}
results.answers = counts;
await sleep(6);
results.left = {
  running: await gaugeOf("qkv_requests_running"),
  waiting: await gaugeOf("qkv_requests_waiting"),
  rows: await gaugeOf("qkv_batch_rows"),
  crashes: await gaugeOf("qkv_model_crashes"),
};
results.memoryAfter = { ...memory(), kept: await kept() };
const sum = ({ server: one, model: other }) => one + other;
/** Common beginnings are kept for a minute, up to a bound; without them. */
const own = (some) => sum(some) - some.kept;
results.memoryGrown = { sinceCold: sum(results.memoryAfter) - sum(before), sinceWarm: own(results.memoryAfter) - own(results.memoryWarm) };
say(JSON.stringify(results, null, 2));
if (Number(flags.seconds) >= 100) {
  await sleep(62);
  results.memoryAfterAMinute = memory();
  say(`after a minute of rest: ${JSON.stringify(results.memoryAfterAMinute)}`);
}
if (flags.json) console.log(JSON.stringify(results));
const five = readFileSync(log, "utf8")
  .split("\n")
  .filter((line) => /"status":5/.test(line));
if (five.length > 0) say(`${five.length} answers were 5xx, such as ${five[0]}`);
const wrong =
  counts.different + counts.broken + counts.wrongStatus + results.left.running + results.left.rows + results.left.crashes + five.length;
if (wrong > 0)
  say(
    `WRONG: ${differing
      .slice(0, 3)
      .map((one) => JSON.stringify(one))
      .join("\n")}`,
  );
server.kill("SIGTERM");
await new Promise((resolve) => server.once("exit", resolve));
process.exitCode = wrong > 0 ? 1 : 0;
