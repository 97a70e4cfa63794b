import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

// How long the event loop is held while other requests of the same process would wait: a timer ticks, and the longest time between two
// ticks counts. `--entry <another checkout>/dist/…` measures that one, where it has the same functions.

const { values } = parseArgs({ options: { entry: { type: "string", default: "../dist/entries/qkv.js" }, only: { type: "string" } } });
const { open, train, trainTokenizer } = await import(values.entry);
const folder = mkdtempSync(join(tmpdir(), "qkv-loop-"));
const file = (name, text) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

/** Text with as many different words as prose has: frequent ones often, and always some new. */
function prose(bytes, seed = 1) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const syllables = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu", "an", "er", "in", "ot", "us", "sh", "th", "pl"];
  const words = Array.from({ length: 40_000 }, () =>
    Array.from({ length: 1 + next() * 4 }, () => syllables[Math.floor(next() * 18)]).join(""),
  );
  const lines = [];
  for (let length = 0; length < bytes; ) {
    const line = Array.from({ length: 12 }, () => words[Math.floor(words.length * next() ** 4)]).join(" ");
    lines.push(line);
    length += line.length + 1;
  }
  return lines;
}

const lines = prose(5e6);
const texts = lines.slice(0, 20_000);
const table = `text\tlabel\n${texts.map((text, i) => `${text}\t${i % 4}`).join("\n")}\n`;
const large = { layers: 8, width: 512, heads: 8 };

const work = {
  "learn a BPE vocabulary (5 MB)": () => trainTokenizer("bpe", [lines.join("\n")]),
  "learn a unigram vocabulary (1 MB)": () => trainTokenizer("unigram", [lines.join("\n").slice(0, 1e6)]),
  "train a classifier (20,000 texts, BPE)": () =>
    train(file("texts.tsv", table), { out: join(folder, "classifier"), tokenizer: "bpe", steps: 60, threads: 1 }),
  "train a language model": () => train(file("text.txt", lines.join("\n")), { out: join(folder, "lm"), steps: 60, threads: 1 }),
  "train 25M parameters, 2 steps (first compile, saves)": () =>
    train(
      file(
        "few.tsv",
        `text\tlabel\n${texts
          .slice(0, 60)
          .map((text, i) => `${text}\t${i % 2}`)
          .join("\n")}\n`,
      ),
      {
        ...{ out: join(folder, "large"), model: large, steps: 2, batch: 2, threads: 1 },
      },
    ),
  "open it, first call": () => open(join(folder, "large")).classify([texts[0]]),
  evaluate: () => open(join(folder, "classifier")).evaluate(),
  "classify 5,000 texts": () => open(join(folder, "classifier")).classify(texts.slice(0, 5000)),
};

/** The longest time between two ticks while something runs, and how long it ran, in milliseconds. */
async function held(body) {
  let [last, longest] = [performance.now(), 0];
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(tick, 1);
  const begin = performance.now();
  try {
    await body();
    tick();
  } finally {
    clearInterval(timer);
  }
  return { longest, all: performance.now() - begin };
}

try {
  console.log(`${"work".padEnd(54)}longest hold      all`);
  for (const [name, body] of Object.entries(work)) {
    if (values.only !== undefined && !name.includes(values.only)) continue;
    const { longest, all } = await held(body);
    console.log(`${name.padEnd(54)}${longest.toFixed(0).padStart(9)} ms${(all / 1000).toFixed(1).padStart(7)} s`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
