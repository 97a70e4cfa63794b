// Writes a text of any size, to see what a long one costs: node scripts/big-text.mjs big.txt 1000 (megabytes), then
// /usr/bin/time -v npx qkv train big.txt --tokenizer bpe --steps 200
import { closeSync, openSync, writeSync } from "node:fs";
import { chance } from "../dist/base/chance.js";

const [file = "big.txt", megabytes = "1000"] = process.argv.slice(2);
const source = chance(1).fork("big text");
const syllables = Array.from({ length: 300 }, (_, i) => "bcdfghklmnprstvwz"[i % 17] + "aeiou"[i % 5] + ["", "n", "r", "s"][i % 4]);
const word = (i) => Array.from({ length: 1 + source.integer(i, 4) }, (_, k) => syllables[source.fork(i).integer(k, 300)]).join("");
const words = Array.from({ length: 50_000 }, (_, i) => word(i));
const descriptor = openSync(file, "w");
for (let written = 0, block = 0; written < Number(megabytes) * 1e6; block++) {
  const own = source.fork("block").fork(block);
  // a word's frequency falls with its number, as in real text
  const text = Array.from({ length: 20_000 }, (_, i) => {
    const chosen = words[Math.floor(words.length ** own.uniform(i)) - 1];
    return i % 12 === 11 ? `${chosen}.\n` : `${chosen} `;
  }).join("");
  written += writeSync(descriptor, text);
}
closeSync(descriptor);
