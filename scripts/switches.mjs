// What each switch of models and training gives at equal time: recipes in their quick settings, each switch alone and some together, over seeds.
// A short training of every variant, in turns, tells how long its steps take; the whole one then has as many steps as fit into the time of
// the plain setting. What is known is kept in docs/results/switches.json, so it can be stopped and goes on; run it where the data packages are.
// node scripts/switches.mjs [--only book,translate] [--seeds 3] [--threads 2] [variant…]
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", default: "book,translate,reviews" },
    seeds: { type: "string", default: "3" },
    threads: { type: "string", default: "2" },
    file: { type: "string", default: join(root, "docs/results/switches.json") },
  },
});

/** What is turned on beside the plain setting: AdamW with the choices of before. */
const variants = JSON.parse(readFileSync(join(root, "scripts/switches.json"), "utf8"));
const recipes = {
  book: { steps: 1500, measure: "perplexity" },
  translate: { steps: 700, measure: "chrf" },
  reviews: { steps: 800, measure: "accuracy" },
};

/** What is about the scores of tokens, and a classifier has none. */
const noTokens = ["softcap", "untied"];

const qkv = (...args) =>
  JSON.parse(
    execFileSync(process.execPath, [join(root, "dist/cli/main.js"), ...args, "--json"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );

const known = read();
for (const recipe of values.only.split(",")) {
  const wanted = positionals.length > 0 ? positionals : Object.keys(variants);
  const names = wanted.filter((name) => recipe !== "reviews" || !noTokens.includes(name));
  measureTimes(recipe, ["plain", ...names.filter((name) => name !== "plain")]);
  for (let seed = 1; seed <= Number(values.seeds); seed++) for (const name of names) train(recipe, name, seed);
}
print();

/** The time of a step, of short trainings in turns: four of five took longer. */
function measureTimes(recipe, names) {
  known.times[recipe] ??= {};
  const times = known.times[recipe];
  const wanted = names.filter((name) => times[name] === undefined);
  if (wanted.length === 0) return;
  const all = Object.fromEntries([...new Set(["plain", ...wanted])].map((name) => [name, []]));
  for (let round = 0; round < 3; round++)
    for (const name of Object.keys(all)) {
      const out = folder(`times-${recipe}-${name}`);
      trained(recipe, name, out, "--steps", "60");
      all[name].push(...steps(out).slice(10));
      rmSync(out, { recursive: true });
    }
  const best = (name) => all[name].sort((a, b) => a - b)[Math.floor(all[name].length / 5)];
  for (const name of Object.keys(all)) times[name] = best(name) / best("plain");
  write();
}

function trained(recipe, name, out, ...more) {
  const run = ["--recipe", recipe, ...variants[name], ...more, "--out", out, "--overwrite", "--quiet", "--threads", values.threads];
  return qkv("train", ...run);
}

function train(recipe, name, seed) {
  known.runs[recipe] ??= {};
  known.runs[recipe][name] ??= {};
  const runs = known.runs[recipe][name];
  if (runs[seed]) return;
  const count = Math.round(recipes[recipe].steps / known.times[recipe][name]);
  const out = folder(`switch-${recipe}-${name}-${seed}`);
  const { validLoss } = trained(recipe, name, out, "--steps", `${count}`, "--seed", `${seed}`);
  const { [recipes[recipe].measure]: measure } = qkv("eval", out);
  rmSync(out, { recursive: true });
  runs[seed] = { steps: count, validLoss, [recipes[recipe].measure]: measure };
  write();
  console.log(recipe, name, seed, JSON.stringify(runs[seed]));
}

function print() {
  for (const [recipe, found] of Object.entries(known.runs)) {
    console.log(
      `\n| ${recipe} | step time | steps | validation loss, mean (least – most) | ${recipes[recipe].measure} |\n|---|---|---|---|---|`,
    );
    for (const [name, seeds] of Object.entries(found)) {
      const all = Object.values(seeds);
      const mean = (pick) => all.reduce((sum, one) => sum + pick(one), 0) / all.length;
      const losses = all.map(({ validLoss }) => validLoss);
      const range = `${Math.min(...losses).toFixed(4)} – ${Math.max(...losses).toFixed(4)}`;
      console.log(
        `| ${name} | ${known.times[recipe][name].toFixed(3)} | ${all[0].steps} | ${mean(({ validLoss }) => validLoss).toFixed(4)} (${range}) | ${mean((one) => one[recipes[recipe].measure]).toFixed(4)} |`,
      );
    }
  }
}

function steps(out) {
  const lines = readFileSync(join(out, "log.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return lines.filter(({ loss }) => loss !== undefined).map(({ seconds }) => seconds);
}

function folder(name) {
  const path = join(tmpdir(), "qkv-switches", name);
  mkdirSync(dirname(path), { recursive: true });
  return path;
}

function write() {
  mkdirSync(dirname(values.file), { recursive: true });
  writeFileSync(values.file, `${JSON.stringify(known, null, 2)}\n`);
}

function read() {
  try {
    return JSON.parse(readFileSync(values.file, "utf8"));
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return { times: {}, runs: {} };
  }
}
