// What each switch of models and training gives at equal time: recipes in their quick settings, each switch alone and some together, over seeds.
// Steps of each switch, in turns with the plain setting, tell how long they take, and several together take the product of theirs; a whole training then
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
const from = (file) => import(join(root, "dist", file));
const { trainingStep } = await from("bench/workload-step.js");
const { modelLoss } = await from("models/any.js");
const { nodeDevice } = await from("node/device.js");
const { recipe: recipeOf } = await from("recipes/index.js");
const { modelFor } = await from("runs/defaults.js");
const { modelWith } = await from("runs/prepare.js");
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
  ...(variant.includes("qk-norm") ? [] : ["--no-qk-norm"]), // new translators have it by themselves
  ...variant.flatMap((name) => switches[name].flags),
];
const recipes = {
  book: { steps: 1500, measure: "perplexity", task: "lm", vocab: 84, length: 128 },
  translate: { steps: 700, measure: "chrf", task: "translate", vocab: 4000, length: 40 },
  reviews: { steps: 800, measure: "accuracy", task: "classify", vocab: 10_000, length: 256 },
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
  for (const name of new Set(able.flat())) if (!switches[name].free) await measureTime(recipe, name);
  for (let seed = 1; seed <= Number(values.seeds); seed++) for (const variant of able) train(recipe, variant, seed);
}
print();

/** The time of a step beside that of the plain setting, best over best, both in turns in this process. */
async function measureTime(recipe, name) {
  known.times[recipe] ??= {};
  if (known.times[recipe][name] !== undefined) return;
  const ways = [await stepOf(recipe, []), await stepOf(recipe, [name])];
  const best = ways.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < 15; round++)
    for (const [way, { run }] of ways.entries())
      for (let i = 0; i < 6; i++) {
        const begin = performance.now();
        await run();
        best[way] = Math.min(best[way], performance.now() - begin);
      }
  for (const { release } of ways) await release();
  known.times[recipe][name] = best[1] / best[0];
  console.log(recipe, name, `${best.map((one) => one.toFixed(1)).join(" and ")} ms a step`);
  write();
}

/** A step of a recipe's size; what it reads is made up. */
function stepOf(recipe, variant) {
  const { task, vocab, length } = recipes[recipe];
  const { model, training } = recipeOf(recipe).settings(false);
  const config = modelWith(
    task,
    modelFor(task),
    { ...model, qkNorm: false, ...Object.assign({}, ...variant.map((name) => switches[name].model)) },
    { vocab, labels: 2 },
  );
  const batch = training.batch ?? 6;
  const ids = (...shape) => ({
    dtype: "int32",
    shape,
    data: Int32Array.from(
      { length: shape.reduce((a, b) => a * b) },
      (_, i) => (i * i + 7) % (task === "classify" && shape.length === 1 ? 2 : vocab),
    ),
  });
  const lengths = { dtype: "int32", shape: [batch], data: new Int32Array(batch).fill(length) };
  const rows = () => ids(batch, length);
  const feeds = {
    lm: () => ({ ids: rows(), targets: rows() }),
    classify: () => ({ ids: rows(), lengths, targets: ids(batch) }),
    translate: () => ({ source: rows(), lengths, target: rows(), targets: rows() }),
  }[task];
  const workload = {
    loss: modelLoss(config),
    sizes: { batch, time: length, ...(task === "translate" && { sourceTime: length }) },
    feeds,
    flops: () => 0,
    burst: 1,
  };
  return trainingStep(workload, nodeDevice({ threads: Number(values.threads) }), {
    optimizer: variant.includes("muon") ? "muon" : "adamw",
  });
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

/** The tables of docs/models.md, the lowest loss first. */
function print() {
  for (const [recipe, found] of Object.entries(known.runs)) {
    const { measure } = recipes[recipe];
    console.log(`\n| ${recipe} | a step takes | steps | validation loss (least – most) | ${measure} |\n|---|---|---|---|---|`);
    const rows = Object.entries(found).map(([name, seeds]) => {
      const all = Object.values(seeds);
      const mean = (pick) => all.reduce((sum, one) => sum + pick(one), 0) / all.length;
      const losses = all.map(({ validLoss }) => validLoss);
      const variant = name === plain ? [] : name.split(" + ");
      const range = all.length > 1 ? ` (${Math.min(...losses).toFixed(3)} – ${Math.max(...losses).toFixed(3)})` : "";
      const steps = all[0].steps.toLocaleString("en");
      const cells = [titleOf(variant), timeOf(recipe, variant).toFixed(2), steps];
      return { loss: mean(({ validLoss }) => validLoss), cells, range, measured: mean((one) => one[measure]) };
    });
    for (const { loss, cells, range, measured } of rows.toSorted((a, b) => a.loss - b.loss))
      console.log(`| ${cells.join(" | ")} | ${loss.toFixed(3)}${range} | ${measured.toPrecision(3)} |`);
  }
}

function titleOf(variant) {
  const flags = variant.filter((name) => name !== "muon").map((name) => `\`${switches[name].flags.join(" ")}\``);
  return [variant.includes("muon") ? "Muon" : flags.length === 0 ? "AdamW" : "", ...flags].filter(Boolean).join(", ");
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
