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
    const flags = [...kinds[name], "--steps", `${steps}`, "--batch", "10", "--save-every", "1000"];
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

/** Whether its last step is saved; the log of one that was killed may end in the middle of a line. */
const isOver = (run: string): boolean =>
  existsSync(place.path(run, "checkpoints")) && readdirSync(place.path(run, "checkpoints")).some((name) => Number(name) === steps);

/** Whether it was still there. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

const kills = Number(process.env.QKV_RANK_KILLS ?? 10);
const steps = 200 * kills; // so that there is still something to train when the last kill comes

describe.skipIf(noLauncher !== undefined)("a rank that is killed at any moment", () => {
  it(`ends the job, and the run goes on: ${kills} kills`, async () => {
    const flags = [...kinds.decoder, "--batch", "6", "--steps", `${steps}`, "--eval-every", "200", "--save-every", "2"];
    await done(3, "train", ...flags, "--out", "straight");
    const source = chance(7);
    let [begun, landed] = [false, 0];
    for (let i = 0; i < kills; i++) {
      const args = begun ? ["train", "--resume", "killed", "--quiet"] : ["train", ...flags, "--out", "killed"];
      const running = startRanks(place, 3, args);
      const over = running.ended.then(() => true);
      const early = await Promise.race([
        over,
        new Promise<false>((resolve) => setTimeout(() => resolve(false), 900 + source.integer(i, 1500))),
      ]);
      const all = early ? [] : children(running.pid);
      const victim = all[source.integer(100 + i, Math.max(1, all.length))];
      const killed = victim !== undefined && kill(victim);
      const { code } = await running.ended;
      if (killed) expect(code).not.toBe(0);
      if (killed && !isOver("killed")) landed++;
      begun = existsSync(place.path("killed/config.json"));
    }
    for (let tries = 0; tries < 3; tries++) {
      const { code } = await ranks(3, ...(begun ? ["train", "--resume", "killed", "--quiet"] : ["train", ...flags, "--out", "killed"]));
      if (code === 0) break;
    }
    console.log(`ranks: ${landed} of ${kills} kills before the end of the training`);
    expect(weights("killed").equals(weights("straight"))).toBe(true);
    expect(log("killed")).toEqual(log("straight"));
  });
});
