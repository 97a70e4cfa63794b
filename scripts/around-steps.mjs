// What a training run spends around its steps: the command of a language model of W1's size, timed by its own report, and of small jobs.
// Usage: node scripts/around-steps.mjs [steps of the long run] [folder of another checkout, built, to be measured in turns with this one]
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [steps = "2000", other] = process.argv.slice(2);
const root = fileURLToPath(new URL("..", import.meta.url));
const checkouts = other ? [other, root] : [root];
const folder = mkdtempSync(join(tmpdir(), "qkv-around-"));
const text = join(root, "data/moby-dick.txt");
const rhyme = join(folder, "rhyme.txt");
writeFileSync(rhyme, Array.from({ length: 400 }, (_, i) => `the cat sat on the mat, line ${i}\n`).join(""));

const sizes = (given) => given.split(" ");
const jobs = [
  ["W1's size on Moby-Dick", text, [...sizes("--layers 4 --heads 4 --width 128 --context 64 --batch 12 --steps"), steps], 1],
  ["10 steps of it", text, sizes("--layers 4 --heads 4 --width 128 --context 64 --batch 12 --steps 10"), 3],
  ["100 steps, width 32, on 12 KB", rhyme, sizes("--layers 2 --heads 2 --width 32 --context 32 --batch 8 --steps 100"), 3],
];

const seconds = (value) => value.toFixed(2).padStart(8);
const share = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`.padStart(8);
try {
  for (const [name, file, args, rounds] of jobs) {
    const best = new Map();
    for (let round = 0; round < rounds; round++)
      for (const checkout of checkouts) {
        const command = [join(checkout, "dist/cli/main.js"), "train", file, ...args, "--json", "--quiet", "--overwrite"];
        const said = execFileSync(process.execPath, [...command, "--out", join(folder, "run")], {
          encoding: "utf8",
          env: { ...process.env, XDG_CACHE_HOME: join(folder, `cache-${round}`) }, // nothing is tokenised yet
        });
        const found = JSON.parse(said);
        if (!(best.get(checkout)?.totalSeconds <= found.totalSeconds)) best.set(checkout, found);
      }
    for (const [checkout, found] of best) {
      const { totalSeconds: total, trainingSeconds: training, validationSeconds: validation, savingSeconds: saving = 0 } = found;
      console.log(
        `${name}${checkout === root ? "" : ` (${checkout})`}: ${found.steps} steps, validation loss ${found.validLoss.toFixed(4)}`,
      );
      const rest = total - training - validation - saving;
      const rows = { steps: training, validation, saving, "start and the rest": rest, all: total };
      for (const [row, value] of Object.entries(rows)) console.log(`  ${row.padEnd(20)}${seconds(value)} s${share(value, total)}`);
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
