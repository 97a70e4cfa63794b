// What each switch of models and training gives at equal time: recipes in their quick settings, each switch alone and some together, over seeds.
// Short trainings of each switch, in turns with the plain setting, tell how long its steps take, and several together take the product of theirs; a whole training then
// has as many steps as fit into the time of the plain setting. Those that do nothing within a step ("free") take no time. What is known is kept in
// docs/results/switches.json, so it can be stopped and goes on; run it where the data packages are. Times want a quiet machine; losses do not.
// node scripts/switches.mjs [--only book,translate] [--seeds 3, 0 for times alone] [--threads 2] [variant, as "muon + qk-norm"…]
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

/** What is turned on beside the plain setting, AdamW with the choices of before; and which of them together. */
const { switches, together } = JSON.parse(readFileSync(join(root, "scripts/switches.json"), "utf8"));
const plain = "plain";
const variants = [[], ...Object.keys(switches).map((name) => [name]), ...together];
const nameOf = (variant) => variant.join(" + ") || plain;
const flagsOf = (variant) => [
  ...(variant.includes("muon") ? [] : ["--optimizer", "adamw"]),
  ...variant.flatMap((name) => switches[name].flags),
];
const recipes = {
  book: { steps: 1500, measure: "perplexity" },
  translate: { steps: 700, measure: "chrf" },
  reviews: { steps: 800, measure: "accuracy" },
};

/** A classifier has no scores of tokens. */
const isFor = (recipe, name) => recipe !== "reviews" || !switches[name].tokens;

const qkv = (...args) =>
  JSON.parse(
    execFileSync(process.execPath, [join(root, "dist/cli/main.js"), ...args, "--json"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );

const known = read();
for (const recipe of values.only.split(",")) {
  const wanted = variants.filter((variant) => positionals.length === 0 || positionals.includes(nameOf(variant)));
  const able = wanted.filter((variant) => variant.every((name) => isFor(recipe, name)));
  for (const name of new Set(able.flat())) if (!switches[name].free) measureTime(recipe, name);
  for (let seed = 1; seed <= Number(values.seeds); seed++) for (const variant of able) train(recipe, variant, seed);
}
print();

/** The time of a step beside that of the plain setting, of short trainings in turns: four of five steps took longer. */
function measureTime(recipe, name) {
  known.times[recipe] ??= {};
  if (known.times[recipe][name] !== undefined) return;
  const all = { [plain]: [], [name]: [] };
  for (let round = 0; round < 3; round++)
    for (const variant of [[], [name]]) {
      const out = folder(`times-${recipe}-${nameOf(variant)}`);
      trained(recipe, variant, out, "--steps", "60", "--eval-every", "60");
      all[nameOf(variant)].push(...steps(out).slice(10));
      rmSync(out, { recursive: true });
    }
  const best = (one) => all[one].sort((a, b) => a - b)[Math.floor(all[one].length / 5)];
  known.times[recipe][name] = best(name) / best(plain);
  write();
}

function timeOf(recipe, variant) {
  return variant.reduce((time, name) => time * (known.times[recipe]?.[name] ?? 1), 1);
}

function trained(recipe, variant, out, ...more) {
  const run = ["--recipe", recipe, ...flagsOf(variant), ...more, "--out", out, "--overwrite", "--quiet", "--threads", values.threads];
  return qkv("train", ...run);
}

function train(recipe, variant, seed) {
  const name = nameOf(variant);
  known.runs[recipe] ??= {};
  known.runs[recipe][name] ??= {};
  const runs = known.runs[recipe][name];
  if (runs[seed]) return;
  const count = Math.round(recipes[recipe].steps / timeOf(recipe, variant));
  const out = folder(`switch-${recipe}-${name}-${seed}`);
  const { validLoss } = trained(recipe, variant, out, "--steps", `${count}`, "--seed", `${seed}`);
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
        `| ${name} | ${timeOf(recipe, name === plain ? [] : name.split(" + ")).toFixed(3)} | ${all[0].steps} | ${mean(({ validLoss }) => validLoss).toFixed(4)} (${range}) | ${mean((one) => one[recipes[recipe].measure]).toFixed(4)} |`,
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
