import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Chance, chance } from "../../src/base/chance.ts";

// kill -9 at random moments, many of them inside a save, then --resume, again and again: in the end everything is as if nothing had
// happened. 20 kills here; `npm run kills` does 200.

const kills = Number(process.env.QKV_KILLS ?? 20);
const kinds = kills > 20 ? 6 : 2;
const each = Math.ceil(kills / kinds);
const steps = 5 * each; // a round between two kills takes one step at least, and rarely more than four
const command = join(import.meta.dirname, "../../dist/cli/main.js");
const folder = mkdtempSync(join(tmpdir(), "qkv-kill-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const source = chance(11);
const letters = "abcdefgh ";
const word = (from: Chance, length: number) => Array.from({ length }, (_, i) => letters[from.integer(i, letters.length)]).join("");

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const rows = (line: (from: Chance) => string) => Array.from({ length: 80 }, (_, i) => line(source.fork(i))).join("\n");
const data = {
  lm: write("text.txt", word(source.fork("text"), 4000)),
  classify: write("labels.tsv", `text\tlabel\n${rows((from) => `${word(from, 9)}x\t${from.integer(99, 2)}`)}\n`),
  translate: write("pairs.tsv", `source\ttarget\n${rows((from) => `a${word(from, 6)}\tb${word(from, 6)}`)}\n`),
};
const small = ["--layers", "1", "--width", "16", "--batch", "4", "--dropout", "0.1", "--seed", "3", "--threads", "2"];
const often = ["--steps", `${steps}`, "--save-every", "1", "--eval-every", "3", "--keep", "2", "--quiet"];
const parent = join(folder, "parent");
const runs: Record<string, readonly string[]> = {
  "a decoder": [data.lm, "--context", "16", "--heads", "2", "--accumulate", "2", ...small, ...often],
  "an encoder–decoder": [data.translate, "--heads", "2", "--tokenizer", "char", ...small, ...often],
  "a classifier": [data.classify, "--heads", "2", "--optimizer", "sgd", "--tokenizer", "char", ...small, ...often],
  "one that goes on from another": [data.classify, "--from", parent, "--freeze", "encoder/tokens", ...small, ...often],
  "an adapter": [data.classify, "--from", parent, "--lora", "2", "--lora-dropout", "0.1", ...small, ...often],
  "an RNN": [data.lm, "--model", "rnn", "--context", "8", "--optimizer", "adam", ...small, ...often],
};
const chosen = Object.entries(runs).slice(0, kinds);

const start = (args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [command, "train", ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, XDG_CACHE_HOME: join(folder, "cache") },
  });

const ended = (child: ChildProcess): Promise<number | null> => new Promise((resolve) => child.once("close", (code) => resolve(code)));
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The names of everything that is only there during a save. */
const halfDone = (run: string): string[] => {
  try {
    return [...readdirSync(join(run, "checkpoints")), ...readdirSync(run)].filter((name) => name.startsWith("."));
  } catch {
    return [];
  }
};

/** Waits until the child has begun so many saves, or has ended. */
async function untilSaves(child: ChildProcess, run: string, count: number): Promise<void> {
  let seen = 0;
  let saving = false;
  while (seen < count && child.exitCode === null) {
    const now = halfDone(run).some((name) => name.startsWith(".saving"));
    if (now && !saving) seen++;
    saving = now;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Trains with kills; gives back how many there were, and how many left something half done. */
async function killedAgainAndAgain(
  args: readonly string[],
  run: string,
  times: number,
  from: Chance,
): Promise<{ killed: number; inside: number }> {
  let [killed, inside, first] = [0, 0, true];
  for (;;) {
    const child = start(first ? [...args, "--out", run] : ["--resume", run, "--quiet"]);
    const over = ended(child);
    let errors = "";
    child.stderr?.on("data", (bytes) => {
      errors += bytes;
    });
    if (killed < times) {
      await untilSaves(child, run, 2 + from.integer(3 * killed, 2)); // at least one save is finished, so that there is progress
      await pause(from.uniform(3 * killed + 1) * 6);
      child.kill("SIGKILL");
    }
    const code = await over;
    first = false;
    if (code === 0) return { killed, inside };
    expect(errors).toBe("");
    expect(child.signalCode).toBe("SIGKILL");
    killed++;
    if (halfDone(run).length > 0) inside++;
  }
}

const timing = new Set(["seconds", "tokensPerSecond"]);
const logOf = (run: string): unknown[] =>
  readFileSync(join(run, "log.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => Object.fromEntries(Object.entries(JSON.parse(line)).filter(([name]) => !timing.has(name))));

describe("a run that is killed again and again", () => {
  beforeAll(async () => {
    const first = [data.classify, "--heads", "2", "--tokenizer", "char", ...small, "--steps", "3", "--quiet", "--out", parent];
    expect(await ended(start(first))).toBe(0);
  });

  it.each(chosen)(
    "ends as one that was not: %s",
    async (name, args) => {
      const [straight, broken] = [join(folder, `${name} straight`), join(folder, `${name} broken`)];
      expect(await ended(start([...args, "--out", straight]))).toBe(0);
      const { killed, inside } = await killedAgainAndAgain(args, broken, each, chance(5).fork(name));
      expect(killed).toBe(each);
      expect(inside).toBeGreaterThanOrEqual(Math.floor(each / 10));
      console.log(`${name}: ${killed} kills, ${inside} of them inside a save`);
      const shipped = name === "an adapter" ? "adapter/adapter_model.safetensors" : "model.safetensors";
      const files = [shipped, `checkpoints/${steps}/weights.safetensors`, `checkpoints/${steps}/optimizer.safetensors`];
      for (const file of files) expect(readFileSync(join(broken, file)).equals(readFileSync(join(straight, file))), file).toBe(true);
      expect(logOf(broken)).toEqual(logOf(straight));
      expect(readdirSync(join(broken, "checkpoints")).sort()).toEqual(readdirSync(join(straight, "checkpoints")).sort());
    },
    600_000,
  );
});
