// What many ranks give on this machine: `node scripts/ranks-speed.mjs [--rounds 3] [--only w1|w2|sum|memory]` (after a build; wants mpirun). Two ranks of one
// thread beside one process of two threads, in turns, best step against best step and median against median; what a sum of gradients takes beside a
// plain copy of as many bytes; and what a rank takes with the optimizer's state in parts.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const root = new URL("..", import.meta.url).pathname;
const main = join(root, "dist/cli/main.js");
const { values: flags } = parseArgs({ options: { rounds: { type: "string", default: "3" }, only: { type: "string" } } });
const place = mkdtempSync(join(tmpdir(), "qkv-ranks-speed-"));
const mpirun = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"];
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const wanted = (name) => flags.only === undefined || flags.only === name;

const workloads = {
  w1: { steps: 120, flags: "--layers 4 --heads 4 --width 128 --context 64 --batch 12" },
  w2: { steps: 12, flags: "--layers 6 --heads 6 --width 384 --context 256 --batch 8" },
};

/** Trains, and gives back what each step took, in milliseconds, without those at the start. */
function trained(workload, ranks, threads) {
  const out = join(place, "run");
  rmSync(out, { recursive: true, force: true });
  const args = [
    "train",
    join(root, "data/moby-dick.txt"),
    ...workload.flags.split(" "),
    "--steps",
    `${workload.steps}`,
    "--threads",
    `${threads}`,
  ];
  const rest = ["--eval-every", "100000", "--save-every", "100000", "--valid-fraction", "0", "--out", out, "--quiet", "--json"];
  const words = [main, ...args, ...rest];
  const [program, given] = ranks === 1 ? [process.execPath, words] : ["mpirun", [...mpirun, "-np", `${ranks}`, process.execPath, ...words]];
  const result = JSON.parse(execFileSync(program, given, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], cwd: place }));
  const lines = readFileSync(join(out, "log.jsonl"), "utf8").trim().split("\n");
  const steps = lines.map((line) => JSON.parse(line)).filter(({ loss }) => loss !== undefined);
  return {
    each: steps.slice(3).map(({ seconds }) => 1000 * seconds),
    exchange: (result.exchangeSeconds ?? 0) / result.trainingSeconds,
  };
}

for (const [name, workload] of Object.entries(workloads).filter(([one]) => wanted(one))) {
  const ways = { "1 process × 1 thread": [1, 1], "1 process × 2 threads": [1, 2], "2 ranks × 1 thread": [2, 1] };
  const found = Object.fromEntries(Object.keys(ways).map((way) => [way, { each: [], exchange: [] }]));
  for (let round = 0; round < Number(flags.rounds); round++)
    for (const [way, [ranks, threads]] of Object.entries(ways)) {
      const { each, exchange } = trained(workload, ranks, threads);
      found[way].each.push(...each);
      found[way].exchange.push(exchange);
    }
  const best = Math.min(...found["1 process × 2 threads"].each);
  for (const [way, { each, exchange }] of Object.entries(found)) {
    const own = Math.min(...each);
    console.log(
      `${name}  ${way.padEnd(22)} best ${own.toFixed(1)} ms (${(best / own).toFixed(2)} × of one process with 2 threads), median ${median(each).toFixed(1)} ms, exchanging ${(100 * Math.min(...exchange)).toFixed(0)} %`,
    );
  }
}

if (wanted("sum")) {
  const program = join(place, "sum.mjs");
  const door = (file) => JSON.stringify(join(root, "dist", file));
  writeFileSync(
    program,
    `import { joinRanks } from ${door("processes/ranks.js")};
const ranks = await joinRanks({ clock: () => performance.now() / 1000, lost() {} });
for (const [name, count] of [["0.81M (w1)", 810_000], ["10.8M (w2)", 10_800_000], ["124M (GPT-2 small)", 124_000_000]]) {
  const values = new Float32Array(count).fill(1);
  const copy = new Float32Array(count);
  const [sums, copies] = [[], []];
  for (let i = 0; i < (count > 1e8 ? 4 : 15); i++) {
    await ranks.group.meet();
    let begin = performance.now();
    await ranks.group.sum(values);
    sums.push(performance.now() - begin);
    begin = performance.now();
    copy.set(values);
    copies.push(performance.now() - begin);
    values.fill(1);
  }
  const [sum, plain] = [Math.min(...sums.slice(1)), Math.min(...copies.slice(1))];
  if (ranks.group.leads) console.log(\`sum of \${name}: best \${sum.toFixed(1)} ms = \${((4 * count) / sum / 1e6).toFixed(2)} GB/s; a copy of it \${plain.toFixed(1)} ms (\${(sum / plain).toFixed(1)} copies)\`);
}
ranks.agree();
`,
  );
  const args = [...mpirun, "-np", "2", process.execPath, program];
  process.stdout.write(execFileSync("mpirun", args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }));
}

if (wanted("memory")) {
  const program = join(place, "memory.mjs");
  writeFileSync(
    program,
    `import { AdamW } from ${JSON.stringify(join(root, "dist/training/optimizers.js"))};
import { partOf } from ${JSON.stringify(join(root, "dist/training/group.js"))};
const count = 50_000_000;
const layout = { dtype: "float32", total: count, entries: [{ name: "w", shape: [count / 1000, 1000], offset: 0, length: count, part: "linear", initialiser: { kind: "zeros" } }] };
const size = Number(process.argv[2]);
const before = process.memoryUsage.rss();
const optimizer = new AdamW(layout, size > 1 ? { part: (all) => partOf(all, 0, size) } : {});
for (const { data } of [optimizer.weights, optimizer.gradients, ...optimizer.state.values()]) data.fill(1);
console.log(\`\${size} rank\${size > 1 ? "s" : ""}: \${((process.memoryUsage.rss() - before) / count).toFixed(2)} bytes a parameter (weights, gradients, AdamW); \${8 + 8 / size} by the formula\`);
`,
  );
  for (const size of [1, 2, 4, 8]) process.stdout.write(execFileSync(process.execPath, [program, `${size}`], { encoding: "utf8" }));
}
if (existsSync(place)) rmSync(place, { recursive: true });
