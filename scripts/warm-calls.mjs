import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

// What a call of an opened run costs: the first, those after it, and the bare runs of the session inside them, in turns in one process.
// A model of each kind with (nearly) random weights. `--only encoder`, `--threads 1`, `--precision q8`; `--entry <another checkout>/dist/…`
// measures that one, where it has the same functions.

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    entry: { type: "string", default: "../dist/entries/qkv.js" },
    precision: { type: "string" },
    rounds: { type: "string", default: "40" },
    threads: { type: "string", default: "2" },
  },
});
const { nodeEngine, open, train } = await import(values.entry);
const threads = Number(values.threads);
const folder = mkdtempSync(join(tmpdir(), "qkv-warm-"));
const data = (name, text) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const words = "the quick brown fox jumps over a lazy dog while seven old wizards quietly pack five dozen boxes of fine jade".split(" ");
const sentence = (i, length) => Array.from({ length }, (_, k) => words[(i * 7 + k * ((i % 5) + 1)) % words.length]).join(" ");
const rows = (columns, row) => `${columns.join("\t")}\n${Array.from({ length: 40 }, (_, i) => row(i).join("\t")).join("\n")}\n`;

const large = { layers: 8, width: 512, heads: 8 };
const kinds = {
  encoder: {
    file: () =>
      data(
        "classify.tsv",
        rows(["text", "label"], (i) => [sentence(i, 12), i % 2 ? "yes" : "no"]),
      ),
    model: large,
    // Another length each time: what is compiled for one must serve all.
    call: (run, i) => run.classify([sentence(i, 6 + (i % 6))]),
  },
  tagger: {
    file: () =>
      data(
        "tag.tsv",
        rows(["text", "tags"], (i) => [
          sentence(i, 12),
          Array(12)
            .fill(0)
            .map((_, k) => (i + k) % 3)
            .join(" "),
        ]),
      ),
    model: large,
    call: (run, i) => run.tag([sentence(i, 6 + (i % 6))]),
  },
  "encoder-decoder": {
    file: () =>
      data(
        "pairs.tsv",
        rows(["source", "target"], (i) => [sentence(i, 8), sentence(i + 3, 8)]),
      ),
    model: { layers: 4, width: 384, heads: 6 },
    call: (run, i) => run.translate([sentence(i, 5 + (i % 4))]),
  },
  decoder: {
    file: () => data("text.txt", Array.from({ length: 400 }, (_, i) => sentence(i, 12)).join("\n")),
    model: { ...large, context: 64 },
    call: (run, i) => run.samples([sentence(i, 3)], { tokens: 8, seed: i }),
  },
};

/** An engine that remembers what was run on it, so that the same can be run again without anything around it. */
function remembering() {
  const runs = [];
  const createSession = async (model, options) => {
    const session = await nodeEngine.createSession(model, options);
    const run = (feeds, outputs, into) => {
      runs.push(() => session.run(feeds, outputs, into));
      return session.run(feeds, outputs, into);
    };
    return { run, endProfiling: () => session.endProfiling(), release: () => session.release() };
  };
  return { engine: { ...nodeEngine, createSession }, runs };
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const timed = async (body) => {
  const begin = performance.now();
  await body();
  return performance.now() - begin;
};

async function measured(name, { file, model, call }) {
  const out = join(folder, name);
  const trained = await train(file(), { out, model, steps: 1, batch: 2, threads, validFraction: 0, warn: false });
  const parameters = trained.result.parameters;
  await trained.release();
  const { engine, runs } = remembering();
  const run = open(out, { threads, precision: values.precision, device: { engine } });
  const cold = await timed(() => call(run, 0));
  for (let i = 1; i < 8; i++) await call(run, i);
  const [warm, bare] = [[], []];
  for (let i = 0; i < Number(values.rounds); i++) {
    runs.length = 0;
    warm.push(await timed(() => call(run, i)));
    const again = [...runs];
    bare.push(
      await timed(async () => {
        for (const one of again) await one();
      }),
    );
  }
  await run.release();
  const ratio = median(warm.map((time, i) => time / bare[i])); // of neighbours: other work on the machine slows both
  const best = [warm, bare].map((times) => Math.min(...times).toFixed(2));
  return [
    name,
    (parameters / 1e6).toFixed(1),
    cold.toFixed(0),
    median(warm).toFixed(2),
    median(bare).toFixed(2),
    ratio.toFixed(3),
    ...best,
  ];
}

try {
  const head = ["model", "million", "cold ms", "warm ms", "bare ms", "ratio", "best warm", "best bare", "memory"];
  console.log(head.map((cell, i) => (i === 0 ? cell.padEnd(15) : cell.padStart(9))).join(" "));
  for (const [name, kind] of Object.entries(kinds)) {
    if (values.only !== undefined && values.only !== name) continue;
    const cells = await measured(name, kind);
    const peak = `${(process.resourceUsage().maxRSS / 2 ** 20).toFixed(2)} GB`;
    console.log([cells[0].padEnd(15), ...cells.slice(1).map((cell) => cell.padStart(9)), peak.padStart(9)].join(" "));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
