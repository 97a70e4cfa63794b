// What is timed on many ranks, whoever starts them: training steps, and sums of gradients.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = new URL("..", import.meta.url).pathname;
const main = join(root, "dist/cli/main.js");

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
export const bestAndMedian = (values) => `${Math.min(...values).toFixed(1)} | ${median(values).toFixed(1)}`;

export const workloads = {
  w1: { steps: 120, flags: "--layers 4 --heads 4 --width 128 --context 64 --batch 12" },
  w2: { steps: 24, flags: "--layers 6 --heads 6 --width 384 --context 256 --batch 8" },
};

/** The words that start a program on so many ranks: those of the launcher first. */
const started = (launcher, ranks, words) =>
  ranks === 1 ? [process.execPath, words] : [launcher[0], [...launcher.slice(1), "-np", `${ranks}`, process.execPath, ...words]];

/** Steps in which sessions are made, and ways to exchange are tried. */
const first = 12;

/** Trains in a folder, and gives back what each step took, in milliseconds, without the first; the share that went into exchanging; and how ranks chose to exchange. */
export function trained(place, workload, { launcher, ranks, threads, more = [] }) {
  const out = join(place, "run");
  rmSync(out, { recursive: true, force: true });
  const steps = ["--steps", `${workload.steps}`, "--threads", `${threads}`];
  const rest = ["--eval-every", "100000", "--save-every", "100000", "--valid-fraction", "0", "--out", out, "--json"];
  const words = [main, "train", join(root, "data/moby-dick.txt"), ...workload.flags.split(" "), ...steps, ...more, ...rest];
  const [program, given] = started(launcher, ranks, words);
  const { status, stdout, stderr } = spawnSync(program, given, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], cwd: place });
  if (status !== 0) throw new Error(`the training ended with ${status}: ${stderr.slice(-2000)}`);
  const result = JSON.parse(stdout);
  const lines = readFileSync(join(out, "log.jsonl"), "utf8").trim().split("\n");
  const logged = lines.map((line) => JSON.parse(line)).filter(({ loss }) => loss !== undefined);
  return {
    each: logged.slice(first).map(({ seconds }) => 1000 * seconds),
    exchange: (result.exchangeSeconds ?? 0) / result.trainingSeconds,
    chosen: /.*gradients are exchanged.*/.exec(stderr)?.[0],
  };
}

/** What a sum of gradients takes beside MPI's own (which may add in any order) and a plain copy of as many bytes: a line for each size. */
export function sums(place, launcher) {
  const program = join(place, "sum.mjs");
  writeFileSync(
    program,
    `import koffi from ${JSON.stringify(import.meta.resolve("koffi"))};
import { joinRanks } from ${JSON.stringify(join(root, "dist/processes/ranks.js"))};
const ranks = await joinRanks({ clock: () => performance.now() / 1000, lost() {} });
const library = koffi.load("libmpi.so.40", { global: true }); // of Open MPI
const [world, float, plus] = ["comm_world", "float", "op_sum"].map((name) => library.symbol("ompi_mpi_" + name, "char"));
const reduce = library.func("int MPI_Allreduce(void *, void *, int, void *, void *, void *)");
const theirs = (from, to) => new Promise((resolve) => reduce.async(from, to, from.length, float, plus, world, resolve));
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
/** Where gradients lie in training. */
const numbers = (count) => {
  const pages = Math.ceil((4 * count) / 65_536);
  return new Float32Array(new WebAssembly.Memory({ initial: pages, maximum: pages }).buffer, 0, count).fill(1);
};
for (const [name, count] of [["0.81M (w1)", 810_000], ["10.8M (w2)", 10_800_000], ["124M (GPT-2 small)", 124_000_000]]) {
  const [values, copy] = [numbers(count), numbers(count)];
  const ways = { ours: () => ranks.group.sum(values), "MPI_Allreduce": () => theirs(values, copy), "a copy": () => copy.set(values) };
  const found = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
  for (let i = 0; i < (count > 1e8 ? 6 : 25); i++)
    for (const [way, work] of Object.entries(ways)) {
      values.fill(1);
      await ranks.group.meet();
      const begin = performance.now();
      await work();
      found[way].push(performance.now() - begin);
    }
  const said = Object.entries(found).map(([way, each]) => \`\${way} \${Math.min(...each.slice(1)).toFixed(1)} | \${median(each.slice(1)).toFixed(1)}\`);
  if (ranks.group.leads) console.log(\`sum of \${name}, best | median in ms: \${said.join(", ")}\`);
}
ranks.agree();
`,
  );
  return execFileSync(...started(launcher, 2, [program]), { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], cwd: place });
}
