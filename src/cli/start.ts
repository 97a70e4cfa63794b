import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

// What `npm start` shows: the default recipe, trained afresh, measured, described, at work and from the inside, by the commands that anyone would type.
// Flags of train may follow: npm start -- --steps 200

const main = fileURLToPath(new URL("main.js", import.meta.url));
const run = "runs/book-lm";
const words = "Call me Ishmael.";

for (const args of [
  ["train", "--recipe", "book", "--out", run, "--overwrite", ...process.argv.slice(2)],
  ["eval", run],
  ["info", run],
  ["generate", run, words, "--tokens", "300"],
  ["look", run, words, "--layer", "1", "--head", "0"],
  ["look", run, words, "--out", `${run}/attention.svg`],
  ["look", run, words, "--out", `${run}/attention.html`],
]) {
  console.log(`\n$ npx qkv ${args.map((arg) => (arg.includes(" ") ? `"${arg}"` : arg)).join(" ")}\n`);
  const { status } = spawnSync(process.execPath, [main, ...args], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 130);
}
console.log(`\nOpen ${run}/attention.html in a browser: point at a character to see which earlier ones the model looks at.`);
