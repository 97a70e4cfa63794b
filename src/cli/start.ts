import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

// What `npm start` shows: the default recipe, trained afresh, measured and described, by the commands that anyone would type.

const main = fileURLToPath(new URL("main.js", import.meta.url));
const run = "runs/book-lm";

for (const args of [
  ["train", "--recipe", "book", "--out", run, "--overwrite"],
  ["eval", run],
  ["info", run],
]) {
  console.log(`\n$ npx qkv ${args.join(" ")}\n`);
  const { status } = spawnSync(process.execPath, [main, ...args], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 130);
}
