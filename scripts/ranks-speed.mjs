// What many ranks give on this machine: `node scripts/ranks-speed.mjs [--rounds 3] [--only w1|w2|sum|memory]` (after a build; wants mpirun). Two ranks of one
// thread beside one process of two threads, in turns, best step against best step and median against median; what a sum of gradients takes beside MPI's
// own (which may add in any order) and a plain copy of as many bytes; and what a rank takes with the optimizer's state in parts.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median, sums, trained, workloads } from "./ranks-work.mjs";

const root = new URL("..", import.meta.url).pathname;
const { values: flags } = parseArgs({ options: { rounds: { type: "string", default: "3" }, only: { type: "string" } } });
const place = mkdtempSync(join(tmpdir(), "qkv-ranks-speed-"));
const launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"];
const wanted = (name) => flags.only === undefined || flags.only === name;

for (const [name, workload] of Object.entries(workloads).filter(([one]) => wanted(one))) {
  const ways = { "1 process × 1 thread": [1, 1], "1 process × 2 threads": [1, 2], "2 ranks × 1 thread": [2, 1] };
  const found = Object.fromEntries(Object.keys(ways).map((way) => [way, { each: [], exchange: [] }]));
  for (let round = 0; round < Number(flags.rounds); round++)
    for (const [way, [ranks, threads]] of Object.entries(ways)) {
      const { each, exchange } = trained(place, workload, { launcher, ranks, threads });
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

if (wanted("sum")) process.stdout.write(sums(place, launcher));

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
