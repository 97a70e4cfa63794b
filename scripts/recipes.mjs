// Trains and measures recipes as a user would, one after the other, and keeps what came out in docs/results/recipes.json.
// node scripts/recipes.mjs quick|full [name…]; where data packages are wanted, run it in a folder that has them.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const file = join(root, "docs/results/recipes.json");
const qkv = (...args) =>
  JSON.parse(execFileSync(process.execPath, [join(root, "dist/cli/main.js"), ...args, "--json"], { encoding: "utf8" }));

const [setting, ...chosen] = process.argv.slice(2);
if (setting !== "quick" && setting !== "full") throw new Error("say quick or full, and which recipes (all, if none is named)");
const names = chosen.length > 0 ? chosen : qkv("recipes").recipes.map(({ name }) => name);

for (const name of names) {
  const out = `runs/${setting}-${name}`;
  const began = performance.now();
  const { steps } = qkv("train", "--recipe", name, ...(setting === "full" ? ["--full"] : []), "--out", out, "--overwrite", "--quiet");
  const seconds = Math.round((performance.now() - began) / 1000);
  const { seconds: _, ...measures } = qkv("eval", out);
  const figures = Object.fromEntries(Object.entries(measures).filter(([, value]) => typeof value === "number"));
  const known = read();
  known[name] = { ...known[name], [setting]: { steps, seconds, figures } };
  mkdirSync(join(root, "docs/results"), { recursive: true });
  writeFileSync(file, `${JSON.stringify(known, null, 2)}\n`);
  console.log(name, setting, `${steps} steps`, `${seconds} s`, JSON.stringify(figures));
}

function read() {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return {};
  }
}
