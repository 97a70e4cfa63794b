// A studio and a browser for scripts: the command over a folder of runs that are trained for it, and pages of the browser that npm brings.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import chromium from "@sparticuz/chromium";
import { chromium as driver } from "playwright-core";

export const root = fileURLToPath(new URL("..", import.meta.url));
const main = join(root, "dist/cli/main.js");

export const startBrowser = async () => {
  process.env.AWS_LAMBDA_JS_RUNTIME ??= "nodejs20.x";
  return driver.launch({
    executablePath: await chromium.executablePath(),
    headless: true,
    args: ["--no-sandbox", "--headless", "--disable-gpu"],
  });
};

/** Runs of four kinds, small enough to be trained in a minute and good enough to be looked at. */
export function makeRuns(folder) {
  const runs = join(folder, "runs");
  mkdirSync(runs, { recursive: true });
  const book = readFileSync(join(root, "data/moby-dick.txt"), "utf8").slice(0, 160_000);
  const names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
  const digits = Array.from({ length: 500 }, (_, i) => [...`${(i * 7919) % 1000}`]);
  const moods = {
    good: ["happy", "glad", "cheerful", "pleased"],
    bad: ["sad", "angry", "gloomy", "upset"],
    neither: ["hungry", "busy", "reading", "walking"],
  };
  const who = ["i am", "she is", "they are", "we were", "the dog is"];
  const rows = Object.entries(moods).flatMap(([label, all], kind) =>
    Array.from({ length: 160 }, (_, i) => {
      const said = i % 11 === 0 ? Object.keys(moods)[(kind + 1 + (i % 2)) % 3] : label; // some are wrong, as in life
      return `"${who[i % 5]} ${all[i % 4]} and ${all[(i >> 2) % 4]}, ${i}",${said}`;
    }),
  );
  const files = {
    "book.txt": book,
    "digits.tsv": ["source\ttarget", ...digits.map((all) => `${all.join(" ")}\t${all.map((digit) => names[digit]).join(" ")}`)].join("\n"),
    "moods.csv": ["text,label", ...rows].join("\n"),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const trained = {
    whale:
      "book.txt --layers 2 --heads 4 --width 64 --context 64 --batch 12 --steps 900 --lr 3e-3 --save-every 60 --keep 30 --parts-every 10",
    "whale-2-heads": "book.txt --layers 2 --heads 2 --width 64 --context 64 --batch 12 --steps 600 --lr 3e-3",
    "whale-no-positions": "book.txt --layers 2 --heads 4 --width 64 --context 64 --batch 12 --steps 600 --lr 3e-3 --positions none",
    "digits-rnn": "digits.tsv --model rnn --cell gru --bidirectional --width 48 --tokenizer word --context 12 --steps 300 --save-every 100",
    moods: "moods.csv --layers 2 --heads 2 --width 32 --steps 200 --save-every 40",
  };
  for (const [name, flags] of Object.entries(trained))
    execFileSync(process.execPath, [main, "train", ...flags.split(" "), "--quiet", "--out", join(runs, name)], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    });
  return runs;
}

/** Starts the studio over a folder of runs; gives its address with the token. */
export async function startStudio(runs) {
  const child = spawn(process.execPath, [main, "studio", runs, "--port", "0", "--no-open", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const line = await new Promise((resolve, reject) => {
    child.stdout.once("data", (text) => resolve(String(text)));
    child.once("close", () => reject(new Error("the studio did not start")));
  });
  const gone = new Promise((resolve) => child.once("close", resolve));
  return {
    url: JSON.parse(line).url,
    async stop() {
      child.kill("SIGTERM");
      await gone;
    },
  };
}

export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), "qkv-studio-"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
