import { existsSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { AttentionLook } from "../../src/inspection/look.ts";
import { type HeadSummary, headStatisticsOf } from "../../src/inspection/statistics.ts";
import { open } from "../../src/library/trained.ts";
import { letterCounting } from "../../src/recipes/letter-counting.ts";
import type { Tagged } from "../../src/text/examples.ts";
import { tiny, Workplace } from "../support/command.ts";
import { moods, pairs, words } from "./samples.ts";

// `qkv look` at every kind of model, and at what the letter-counting recipe has learned.

const place = new Workplace();
const wicked = "<script>alert(1)</script> & ";

beforeAll(async () => {
  place.write("wicked.txt", `${wicked}\n`.repeat(40));
  place.write("moods.tsv", moods);
  place.write("words.tsv", words);
  place.write("pairs.tsv", pairs);
  const train = (data: string, run: string, ...flags: string[]) => place.done("train", data, ...tiny, "--quiet", "--out", run, ...flags);
  await train("wicked.txt", "decoder", "--tokenizer", "char");
  await train("words.tsv", "tagger");
  await train("moods.tsv", "mean", "--pool", "mean");
  await train("moods.tsv", "class", "--pool", "class");
  await train("pairs.tsv", "translator", "--layers", "2", "--tokenizer", "char");
  const rnn = "--model rnn --tokenizer char --width 16 --steps 2 --batch 4 --threads 1 --quiet --out rnn".split(" ");
  await place.done("train", "pairs.tsv", ...rnn);
});

const models: readonly [run: string, kind: string, text: string, layers: number, firstToken: string][] = [
  ["decoder", "self", "<script>al", 1, "<"],
  ["tagger", "encoder", "the dog 7 barks", 1, "the"],
  ["mean", "encoder", "i am happy today 1", 1, "i"],
  ["class", "encoder", "i am happy today 1", 1, "<class>"],
  ["translator", "cross", "number 7", 2, "n"],
  ["translator", "self", "number 7", 2, "<s>"],
  ["translator", "encoder", "number 7", 2, "n"],
  ["rnn", "cross", "number 7", 1, "n"],
];

describe("attention", () => {
  it.each(models)("of the %s, kind %s", async (run, kind, text, layers, firstToken) => {
    const page = `${run}-${kind}.html`;
    const { stdout, stderr } = await place.done("look", run, text, "--kind", kind, "--json", "--out", page, "--threads", "1");
    const { tokens, targetTokens, ...look }: AttentionLook = JSON.parse(stdout);
    expect([stderr, Object.keys(look), look.kind, look.layers.length]).toEqual(["", ["kind", "layers"], kind, layers]);
    expect(tokens[0]).toBe(firstToken);
    for (const { heads } of look.layers)
      for (const { pattern } of heads) {
        expect([pattern.length, pattern[0].length]).toEqual([targetTokens.length, tokens.length]);
        for (const row of pattern) expect(row.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
      }
    const html = readFileSync(place.path(page), "utf8");
    expect(html).toMatch(/^<!doctype html>/);
    expect(html).not.toMatch(/<script>al|https?:\/\/(?!www\.w3\.org)/); // user text is text, and nothing comes from a network
  });

  it.each(["decoder", "translator", "rnn"])("of the %s as a picture", async (run) => {
    const [, , text] = models.find(([name]) => name === run) ?? models[0];
    for (const ending of ["svg", "png"]) {
      const { stdout } = await place.done("look", run, text, "--out", `${run}.${ending}`, "--threads", "1");
      expect(stdout).toBe(`wrote ${run}.${ending}\n`);
    }
    const svg = readFileSync(place.path(`${run}.svg`), "utf8");
    expect(svg).toMatch(/^<svg[\s\S]*<\/svg>\s*$/);
    expect(svg).not.toMatch(/<script|NaN|undefined/);
    expect(
      readFileSync(place.path(`${run}.png`))
        .subarray(0, 8)
        .toString("latin1"),
    ).toBe("\x89PNG\r\n\x1a\n");
  });
});

it.each([
  ["attention", "kind"],
  ["statistics", "layers"],
  ["rollout", "layers"],
  ["alignment", "matrix"],
  ["lens", "layers"],
  ["attribution", "parts"],
  ["next", "candidates"],
  ["geometry", "panels"],
  ["positions", "table"],
  ["path", "lengths"],
  ["loss", "series"],
])("the view %s of a translator, with its %s", async (view, key) => {
  const text = ["positions", "path", "loss"].includes(view) ? [] : ["number 7", "--target", "zahl 7"];
  const { stdout } = await place.done("look", "translator", ...text, "--view", view, "--out", `${view}.json`, "--threads", "1");
  expect(stdout).toBe(`wrote ${view}.json\n`);
  expect(JSON.parse(readFileSync(place.path(`${view}.json`), "utf8"))[key].length).toBeGreaterThan(0);
});

it("writes nothing where it refuses", async () => {
  for (const flags of [
    ["--layer", "2"],
    ["--head", "1"],
    ["--view", "lens", "--kind", "self"],
  ]) {
    const { code } = await place.qkv("look", "translator", "number 7", ...flags, "--out", "refused.json");
    expect(code).toBe(2);
  }
  expect(existsSync(place.path("refused.json"))).toBe(false);
});

describe("letter-counting, trained in its quick setting", () => {
  beforeAll(async () => {
    await place.done("train", "--recipe", "letter-counting", "--quiet", "--out", "letters");
  }, 300_000);

  const mean = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0) / numbers.length;

  /** What `same` would be for a head that looks everywhere alike. */
  function chanceOf(text: string): number {
    const others = [...text].map((letter) => [...text].filter((other) => other === letter).length - 1);
    return mean(others.filter((count) => count > 0)) / text.length;
  }

  it("has a head that looks from letters to equal letters far more than chance", async () => {
    const data = await letterCounting.data(false);
    const strings = data.kind === "examples" ? (data.test as Tagged[]).slice(0, 20).map(({ text }) => text) : [];
    const run = open(place.path("letters"), { threads: 1 });
    const heads: HeadSummary[][] = [];
    for (const text of strings) heads.push(headStatisticsOf(await run.attention(text)).layers.flatMap((layer) => layer.heads));
    const same = heads[0].map((_, head) => mean(heads.map((one) => one[head].same ?? 0)));
    expect(Math.max(...same)).toBeGreaterThan(0.5);
    expect(Math.max(...same)).toBeGreaterThan(2.5 * mean(strings.map(chanceOf)));
  });

  it("looks back from each letter of a second alphabet to the same one of the first", async () => {
    const { stdout } = await place.done("look", "letters", "abcdefghijabcdefghij", "--json");
    const { layers }: AttentionLook = JSON.parse(stdout);
    const found = layers.flatMap(({ heads }) => heads.map(({ pattern }) => pattern.slice(10).filter(looksBack).length));
    expect(Math.max(...found)).toBeGreaterThanOrEqual(9);
  });

  /** Whether a letter looks at no other letter as much as at the one ten places before, which is the same. */
  const looksBack = (row: readonly number[], i: number): boolean => row.every((weight, key) => key === i + 10 || weight <= row[i]);
});
