import { spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { signals } from "./interrupt.ts";

// What `npm start` shows: the default recipe, trained afresh, measured, described, at work and from the inside, by the commands that anyone would type.
// Flags of train may follow: npm start -- --steps 200

const main = fileURLToPath(new URL("main.js", import.meta.url));
const run = "runs/book-lm";
const words = "Call me Ishmael.";
/** A Ctrl-C comes twice, from the terminal and from npm. */
const echoMilliseconds = 300;

/**
 * Runs a command, and passes signals on to it, so that a training that is stopped saves what it has. It gets a process group of its own
 * (where there are such), because a terminal sends Ctrl-C to a whole group, and twice means at once.
 */
function runCommand(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [main, ...args], { stdio: "inherit", detached: process.platform !== "win32" });
  let received: NodeJS.Signals | undefined;
  let last = Number.NEGATIVE_INFINITY;
  const handle = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (now - last > echoMilliseconds) child.kill(signal);
    last = now;
    received ??= signal;
  };
  for (const signal of signals) process.on(signal, handle);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      for (const name of signals) process.off(name, handle);
      const by = received ?? signal;
      resolve(by ? 128 + constants.signals[by] : (code ?? 1));
    });
  });
}

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
  const code = await runCommand(args);
  if (code !== 0) process.exit(code);
}
console.log(`\nOpen ${run}/attention.html in a browser: point at a character to see which earlier ones the model looks at.`);
