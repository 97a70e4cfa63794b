import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { type Result, Workplace } from "../support/command.ts";
import { noLauncher, startRanks } from "../support/ranks.ts";
import { moods, pairs, rhyme, words } from "./samples.ts";

// mpirun -np N qkv …, as people start it.

const place = new Workplace();
const ranks = (size: number, ...args: readonly string[]): Promise<Result> => startRanks(place, size, args).ended;
const done = async (size: number, ...args: readonly string[]): Promise<Result> => {
  const result = await ranks(size, ...args);
  expect(result.code, result.stderr).toBe(0);
  return result;
};

const small = "--layers 1 --width 16 --dropout 0.2 --seed 3 --threads 1 --quiet".split(" ");
const kinds: Readonly<Record<string, readonly string[]>> = {
  decoder: ["rhyme.txt", "--heads", "2", "--context", "16", ...small],
  classifier: ["moods.tsv", "--heads", "2", "--tokenizer", "char", ...small],
  tagger: ["words.tsv", "--heads", "2", ...small],
  translator: ["pairs.tsv", "--heads", "2", "--tokenizer", "char", ...small],
  rnn: ["rhyme.txt", "--model", "rnn", "--cell", "lstm", "--context", "8", ...small],
};

const weights = (run: string): Buffer => readFileSync(place.path(run, "model.safetensors"));
const log = (run: string): Record<string, unknown>[] =>
  readFileSync(place.path(run, "log.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const { seconds: _, tokensPerSecond: __, ...rest } = JSON.parse(line);
      return rest;
    });
const lossesOf = (run: string): number[] => log(run).flatMap(({ loss }) => (typeof loss === "number" ? [loss] : []));

beforeAll(() => {
  for (const [name, text] of Object.entries({ "rhyme.txt": rhyme, "moods.tsv": moods, "words.tsv": words, "pairs.tsv": pairs }))
    place.write(name, text);
});

describe.skipIf(noLauncher !== undefined)("mpirun", () => {
  it.each(Object.entries(kinds))("trains a %s on 2 and 4 ranks to the bits of one process that accumulates", async (name, args) => {
    const steps = ["--steps", "20", "--eval-every", "10"];
    for (const size of [2, 4]) {
      const [together, alone] = [`${name}-${size}`, `${name}-${size}-alone`];
      await done(size, "train", ...args, ...steps, "--batch", "8", "--out", together);
      const result = await place.qkv("train", ...args, ...steps, "--batch", `${8 / size}`, "--accumulate", `${size}`, "--out", alone);
      expect(result.code, result.stderr).toBe(0);
      expect(weights(together).equals(weights(alone))).toBe(true);
      expect(log(together)).toEqual(log(alone));
    }
  });

  it.each([
    ["decoder", 50, 1e-6],
    ["translator", 120, 1e-4],
  ] as const)("trains a %s for %i steps as one process with the whole batch, whatever the number of ranks", async (name, steps, near) => {
    const flags = [...kinds[name], "--steps", `${steps}`, "--batch", "10", "--save-every", "1000", "--optimizer", "adamw"]; // which can be divided
    await place.done("train", ...flags, "--out", `${name}-whole`);
    for (const [i, more] of [[], ["--shard-optimizer"], ["--accumulate", "1"]].entries()) {
      const out = `${name}-of-${i + 2}`;
      await done(i + 2, "train", ...flags, ...more, "--out", out);
      const [found, wanted] = [lossesOf(out), lossesOf(`${name}-whole`)];
      expect(found).toHaveLength(steps);
      for (const [k, loss] of found.entries()) expect(Math.abs(loss - wanted[k])).toBeLessThanOrEqual(near * wanted[k]);
    }
  });

  it("says who trains, and only once", async () => {
    const flags = "--layers 1 --width 16 --heads 2 --context 16 --steps 3 --batch 4".split(" ");
    const { stdout, stderr } = await done(2, "train", "rhyme.txt", ...flags, "--out", "said", "--json");
    expect(stderr).toMatch(/2 ranks on 1 host \(\S+: 2\), through Open MPI/);
    expect(stderr).toMatch(/tokens\/s {2}[\d,]+ a rank, \d+ % exchanging/);
    expect(stderr.match(/decoder with/g)).toHaveLength(1);
    const result = JSON.parse(stdout);
    expect([result.steps, result.run, typeof result.exchangeSeconds]).toEqual([3, "said", "number"]);
  });

  it("measures and answers what one process does, in parts", async () => {
    for (const name of ["decoder", "classifier", "tagger", "translator"]) {
      const run = `${name}-2`;
      const [together, alone] = [await done(3, "eval", run, "--json"), await place.done("eval", run, "--json")];
      const { seconds: _, ...found } = JSON.parse(together.stdout);
      const { seconds: __, ...wanted } = JSON.parse(alone.stdout);
      expect(found).toEqual(wanted);
    }
    for (const [kind, run, file] of [
      ["classify", "classifier-2", "moods.tsv"],
      ["translate", "translator-2", "pairs.tsv"],
    ] as const) {
      await done(3, kind, run, "--in", file, "--out", `${kind}-3.csv`, "--threads", "1", "--prefix", "found_");
      await place.done(kind, run, "--in", file, "--out", `${kind}-1.csv`, "--threads", "1", "--prefix", "found_");
      expect(readFileSync(place.path(`${kind}-3.csv`), "utf8")).toBe(readFileSync(place.path(`${kind}-1.csv`), "utf8"));
    }
    const { stdout } = await done(2, "info", "decoder-2", "--json");
    expect(stdout.trim().split("\n")).toHaveLength(1);
  });

  it("ends with one sentence where something is wrong", async () => {
    const wrong = await ranks(2, "train", "nowhere.txt", "--out", "nothing");
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr.match(/nowhere\.txt/g)).toHaveLength(1);
    const library = await ranks(2, "train", "rhyme.txt", "--mpi", "/nowhere/libmpi.so", "--out", "nothing");
    expect(library.stderr).toMatch(/--mpi \/nowhere\/libmpi\.so could not be loaded; give the path of a libmpi/);
    expect(existsSync(place.path("nothing"))).toBe(false);
  });

  it("stops all with a checkpoint when it is asked to, and goes on with another number of ranks", async () => {
    const flags = [...kinds.decoder, "--batch", "8", "--steps", "4000", "--eval-every", "1000", "--save-every", "1000"];
    const running = startRanks(place, 2, ["train", ...flags.filter((flag) => flag !== "--quiet"), "--out", "stopped"]);
    await running.said(/step 1\/4,000/);
    process.kill(running.pid, "SIGUSR2"); // which mpirun passes on
    const { stderr } = await running.ended;
    const [, step] = /stopped at step (\d+) and saved/.exec(stderr) ?? [];
    expect(Number(step), stderr).toBeGreaterThan(0);
    expect(readdirSync(place.path("stopped/checkpoints"))).toContain(
      step.padStart(readdirSync(place.path("stopped/checkpoints"))[0].length, "0"),
    );
    const end = `${Number(step) + 4}`;
    for (const size of [3, 1, 4]) {
      const more = ["train", "--resume", "stopped", "--steps", `${Number(end) + size}`, "--quiet", "--threads", "1"];
      await (size === 1 ? place.done(...more) : done(size, ...more));
    }
    expect(lossesOf("stopped")).toHaveLength(Number(end) + 4);
  });
});

/** The ranks of a job, as the processes below the launcher. */
const children = (pid: number): number[] =>
  spawnSync("ps", ["-o", "pid=", "--ppid", `${pid}`], { encoding: "utf8" }) // which fails where there are none any more
    .stdout.trim()
    .split("\n")
    .map(Number)
    .filter((one) => one > 0);

/** Whether it was still there. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

const kills = Number(process.env.QKV_RANK_KILLS ?? 5);
/** Milliseconds: more ranks than cores on a busy machine are slow, which is no fault of theirs. */
const longest = 600_000 + 60_000 * kills;

/** Training in which there is still something to do when the last kill comes. */
const long = (count: number) => ({
  steps: 500 + 100 * count,
  flags: [...kinds.decoder, "--batch", "6", "--eval-every", "200", "--save-every", "2"],
});

/** Whether its last step is saved; the log of one that was killed may end in the middle of a line. */
const isOver = (run: string, steps: number): boolean =>
  existsSync(place.path(run, "checkpoints")) && readdirSync(place.path(run, "checkpoints")).some((name) => Number(name) === steps);

/** The last step that is saved. */
const savedStep = (run: string): number =>
  Math.max(
    0,
    ...(existsSync(place.path(run, "checkpoints")) ? readdirSync(place.path(run, "checkpoints")) : []).map((name) => Number(name) || 0),
  );

/** Waits until there is a newer checkpoint; not for ever, and not for a job that has ended. */
async function newSteps(run: string, before: number, over: Promise<unknown>): Promise<void> {
  let ended = false;
  over.finally(() => {
    ended = true;
  });
  for (let i = 0; i < 600 && !ended && savedStep(run) <= before; i++) await new Promise((resolve) => setTimeout(resolve, 50));
}

/**
 * Trains to the end, although so many times one of the ranks is killed: every other time at any moment from its start on, else at any moment of its training. Gives
 * back how many kills came before the end, and how many of them after new steps.
 */
async function trainedDespite(count: number, run: string, sizeOf: (time: number) => number): Promise<[number, number]> {
  const { steps, flags } = long(count);
  const source = chance(7).fork(run);
  const begun = () => existsSync(place.path(run, "config.json"));
  const args = () => ["train", ...(begun() ? ["--resume", run, "--quiet"] : [...flags, "--steps", `${steps}`, "--out", run])];
  let [landed, between] = [0, 0];
  for (let i = 0; i < count; i++) {
    const before = savedStep(run);
    const running = startRanks(place, sizeOf(i), args());
    const over = running.ended.then(() => true);
    if (i % 2 === 1) await newSteps(run, before, over);
    const wait = new Promise<false>((resolve) => setTimeout(() => resolve(false), source.integer(i, i % 2 === 1 ? 500 : 2500)));
    let ended = await Promise.race([over, wait]);
    let all: number[] = [];
    while (!ended && all.length === 0) {
      all = children(running.pid); // of which there are none at the very beginning
      ended = await Promise.race([over, new Promise<false>((resolve) => setTimeout(() => resolve(false), all.length > 0 ? 0 : 20))]);
    }
    const victim = all[source.integer(1000 + i, Math.max(1, all.length))];
    const killed = victim !== undefined && kill(victim);
    const { code, stderr } = await running.ended;
    if (killed) expect(code, stderr).not.toBe(0);
    else expect(code, stderr).toBe(0); // it had come to its end by itself
    if (!killed || isOver(run, steps)) continue;
    landed++;
    if (savedStep(run) > before) between++;
  }
  await done(sizeOf(count), ...args());
  return [landed, between];
}

describe.skipIf(noLauncher !== undefined)("a rank that is killed at any moment ends the job, and the run goes on", () => {
  it(
    `with as many ranks, to the same bits: ${kills} kills`,
    async () => {
      const { steps, flags } = long(kills);
      await done(3, "train", ...flags, "--steps", `${steps}`, "--out", "straight");
      const [landed, between] = await trainedDespite(kills, "killed", () => 3);
      console.log(`ranks: ${landed} of ${kills} kills before the end of the training, ${between} of them after new steps`);
      expect(weights("killed").equals(weights("straight"))).toBe(true);
      expect(log("killed")).toEqual(log("straight"));
    },
    longest,
  );

  const half = Math.ceil(kills / 2);
  it(
    `with 1, 2, 3 or 4 ranks, whatever it had before: ${half} kills`,
    async () => {
      const [landed, between] = await trainedDespite(half, "changing", (time) => 1 + ((3 * time + 3) % 4));
      console.log(`ranks: ${landed} of ${half} kills before the end of the training, ${between} of them after new steps, on 1 to 4 ranks`);
      const found = log("changing").filter(({ loss }) => loss !== undefined);
      expect(found.map(({ step }) => step)).toEqual(Array.from({ length: long(half).steps }, (_, i) => i + 1));
    },
    longest,
  );
});
