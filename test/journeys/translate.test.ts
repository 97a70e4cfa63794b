import { beforeAll, describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { expectRefusal, tiny, Workplace } from "../support/command.ts";
import { asTsv, heldOut, moods, rhyme, words } from "./samples.ts";

// `qkv translate` as people run it, with a model that has learned to write words of five letters backwards.

const place = new Workplace();
const learns = "--layers 1 --heads 2 --width 64 --context 8 --batch 32 --steps 600 --eval-every 600 --lr 0.005 --dropout 0 --threads 1";

const backwards = (text: string): string => [...text].reverse().join("");
const source = chance(1).fork("words");
const letters = Array.from({ length: 500 }, (_, i) => {
  const own = source.fork(i);
  return Array.from({ length: 1 + own.integer(0, 5) }, (_, k) => "abcde"[own.integer(k + 1, 5)]).join("");
});
const { train, test } = heldOut([...new Set(letters)].map((text) => ({ source: text, target: backwards(text) })));
const sources = test.map((row) => row.source);

beforeAll(async () => {
  place.write("reverse.tsv", asTsv(train));
  await place.done("train", "reverse.tsv", "--tokenizer", "char", "--quiet", "--out", "reverse", ...learns.split(" "));
});

interface Translation {
  readonly source: string;
  readonly target: string;
  readonly logProbability: number;
}

/** Lines on standard input, one line of JSON on standard output. */
async function translated(lines: readonly string[], ...flags: readonly string[]) {
  const { code, stdout, stderr } = await place.fed(lines.map((line) => `${line}\n`).join(""), "translate", "reverse", "--json", ...flags);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^\{"results":\[.*\]\}\n$/);
  return { results: JSON.parse(stdout).results as readonly Translation[], stderr };
}

const mean = (results: readonly Translation[]): number =>
  results.reduce((sum, { logProbability }) => sum + logProbability, 0) / results.length;

describe("a trained model", () => {
  it("answers every line in its order, in the promised form, and nine of ten rightly", async () => {
    const { results, stderr } = await translated(sources);
    expect(stderr).toBe("");
    expect(results.map((result) => Object.keys(result))).toEqual(sources.map(() => ["source", "target", "logProbability"]));
    expect(results.map((result) => result.source)).toEqual(sources);
    const right = results.filter((result) => result.target === backwards(result.source));
    expect(right.length / sources.length).toBeGreaterThan(0.9);
  });

  it("answers arguments the same, one line each", async () => {
    const { results } = await translated(sources.slice(0, 3));
    const { stdout } = await place.done("translate", "reverse", ...sources.slice(0, 3));
    expect(stdout).toBe(results.map(({ target }) => `${target}\n`).join(""));
    expect((await place.fed(sources.slice(0, 3).join("\r\n"), "translate", "reverse")).stdout).toBe(stdout);
  });

  it("finds likelier answers with more beams", async () => {
    const [one, four] = [(await translated(sources)).results, (await translated(sources, "--beams", "4")).results];
    for (const { logProbability } of [...one, ...four]) expect(logProbability).toBeLessThanOrEqual(0);
    expect(mean(four)).toBeGreaterThanOrEqual(mean(one) - 1e-4);
    expect((await translated(sources, "--beams", "1")).results).toEqual(one);
  });

  it("takes a length penalty", async () => {
    const { results } = await translated(sources, "--beams", "4", "--length-penalty", "0.6");
    expect(results.map((result) => result.source)).toEqual(sources);
    expect(mean(results)).toBeLessThanOrEqual(0);
  });

  it("answers with rounded weights", async () => {
    const { results } = await translated(sources, "--weights", "q8");
    expect(results.filter(({ source: text, target }) => target === backwards(text)).length / sources.length).toBeGreaterThan(0.9);
  });

  it("cuts what is longer than the context, and counts what it does not know, with warnings", async () => {
    const { results, stderr } = await translated(["abc", "abcdeabcdeabcde", "xy"]);
    expect(results).toHaveLength(3);
    expect(stderr).toBe(
      "warning: 1 of 3 lines are longer than the context of 8 tokens and are cut\nwarning: 2 tokens are not in the vocabulary and count as unknown\n",
    );
  });
});

describe("refuses", () => {
  it("an empty text, and names it", async () => {
    const sentence = "DataError: text 3: there is nothing in it to translate; leave it out\n";
    expectRefusal(await place.qkv("translate", "reverse", "abc", "cba", ""), 1, sentence);
    expectRefusal(await place.fed("", "translate", "reverse", "--json"), 1, "DataError: standard input: nothing came;");
  });

  it.each([
    ["rhyme.txt", rhyme, "continues text", "generate"],
    ["moods.tsv", moods, "classifies", "classify"],
    ["words.tsv", words, "tags", "tag"],
  ])("a run on %s, and names the command for it", async (file, content, what, command) => {
    place.write(file, content);
    await place.done("train", file, ...tiny, "--quiet", "--out", command);
    const sentence = `ConfigError: ${command}: this run ${what}; use qkv ${command} ${command}\n`;
    expectRefusal(await place.qkv("translate", command, "abc"), 2, sentence);
  });

  it("beams that make no sense", async () => {
    expectRefusal(await place.qkv("translate", "reverse", "abc", "--beams", "0"), 2, /a whole number from 1 on is wanted\./);
    expectRefusal(await place.qkv("translate", "reverse", "abc", "--length-penalty", "x"), 2, /a number from -10 to 10 is wanted\./);
  });
});
