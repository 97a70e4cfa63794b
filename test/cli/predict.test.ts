import { beforeAll, describe, expect, it } from "vitest";
import { ConfigError } from "../../src/base/errors.ts";
import { rows } from "../../src/cli/tag.ts";
import { givenTexts } from "../../src/cli/texts.ts";
import { classifyTexts, type Texts, tagTexts } from "../../src/evaluation/predict.ts";
import { open } from "../../src/library/trained.ts";
import { asTsv, pairs, rhyme, sentences, tagged } from "../journeys/samples.ts";
import { expectRefusal, tiny, Workplace } from "../support/command.ts";

// Labels and tags for texts that have none: by the real commands, with models that have learned their task.

const place = new Workplace();
const learns = "--layers 1 --heads 2 --width 32 --batch 16 --steps 80 --lr 0.01 --threads 1 --quiet".split(" ");

beforeAll(async () => {
  place.write("moods.tsv", asTsv(sentences));
  place.write("words.tsv", asTsv(tagged));
  place.write("letters.tsv", asTsv(["abba", "cabin", "bbc", "aaa", "cab", "bi", "nib", "bacca"].map(vowels)));
  place.write(
    "odd.tsv",
    "text\tlabel\n".concat(...Array.from({ length: 20 }, (_, i) => `word ${i}\t${["__proto__", "toString"][i % 2]}\n`)),
  );
  place.write("pairs.tsv", pairs);
  place.write("rhyme.txt", rhyme);
  await place.done("train", "moods.tsv", ...learns, "--out", "moods");
  await place.done("train", "words.tsv", ...learns, "--out", "words");
  await place.done("train", "letters.tsv", ...learns, "--batch", "4", "--valid-fraction", "0", "--out", "letters");
  for (const name of ["odd.tsv", "pairs.tsv", "rhyme.txt"])
    await place.done("train", name, ...tiny, "--quiet", "--out", name.replace(/\..*/, ""));
}, 240_000);

/** A letter has the tag V or C. */
const vowels = (text: string) => ({ text, tags: [...text].map((letter) => ("aeiou".includes(letter) ? "V" : "C")).join(" ") });

const onlyLine = (stdout: string) => {
  expect(stdout).toMatch(/^\{.*\}\n$/);
  return JSON.parse(stdout);
};

describe("qkv classify", () => {
  const texts = ["my brother was glad today", "the old king was gloomy after lunch"];

  it("gives the label of each text and the probabilities of all labels, as one line of JSON", async () => {
    const { stdout, stderr } = await place.done("classify", "moods", ...texts, "--json");
    const { results } = onlyLine(stdout);
    expect(results.map(({ text, label }: { text: string; label: string }) => [text, label])).toEqual([
      [texts[0], "happy"],
      [texts[1], "sad"],
    ]);
    for (const { probabilities, label } of results) {
      expect(Object.keys(probabilities)).toEqual(["happy", "sad"]);
      expect(probabilities.happy + probabilities.sad).toBeCloseTo(1, 12);
      expect(probabilities[label]).toBeGreaterThan(0.9);
    }
    expect(stderr).toBe("");
  });

  it("rounds its weights if it is asked to: other numbers, nearly the same answer", async () => {
    const asked = async (...flags: string[]) =>
      onlyLine((await place.done("classify", "moods", ...texts, "--json", ...flags)).stdout).results;
    const [whole, rounded] = [await asked(), await asked("--weights", "q8")];
    for (const [i, { label, probabilities }] of rounded.entries()) {
      expect(label).toBe(whole[i].label);
      expect(probabilities[label]).not.toBe(whole[i].probabilities[label]);
      expect(probabilities[label]).toBeCloseTo(whole[i].probabilities[label], 1);
    }
  });

  it("prints label, probability and text in columns", async () => {
    const { stdout } = await place.done("classify", "moods", ...texts);
    expect(stdout).toMatch(
      /^happy {2}(1\.00|0\.9\d) {2}my brother was glad today\nsad {4}(1\.00|0\.9\d) {2}the old king was gloomy after lunch\n$/,
    );
  });

  it("reads the lines of standard input, whatever their ends are", async () => {
    const given = onlyLine((await place.done("classify", "moods", ...texts, "--json")).stdout);
    const { code, stdout } = await place.fed(texts.join("\r\n"), "classify", "moods", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual(given);
    expect((await place.fed(`\uFEFF${texts.join("\n")}\n`, "classify", "moods", "--json")).stdout).toBe(stdout);
  });

  it("answers thousands of lines in their order", async () => {
    const lines = Array.from({ length: 3000 }, (_, i) => `the pilot was ${i % 3 ? "merry" : "tearful"} ${"today ".repeat(i % 7)}`);
    const { stdout } = await place.fed(`${lines.join("\n")}\n`, "classify", "moods");
    const found = stdout.trimEnd().split("\n");
    expect(found).toHaveLength(3000);
    expect(found.map((line) => line.split(" ")[0])).toEqual(lines.map((_, i) => (i % 3 ? "happy" : "sad")));
  });

  it("knows labels that are names of JavaScript's own", async () => {
    const { results } = onlyLine((await place.done("classify", "odd", "word 3", "--json")).stdout);
    expect(Object.keys(results[0].probabilities)).toEqual(["__proto__", "toString"]);
    expect(["__proto__", "toString"]).toContain(results[0].label);
    expect((await place.done("classify", "odd", "word 3")).stdout).toMatch(/^(__proto__|toString {1}) {2}0\.\d\d {2}word 3\n$/);
  });
});

describe("qkv tag", () => {
  it("tags words", async () => {
    const { results } = onlyLine((await place.done("tag", "words", "the red  robot sees a cat", "--json")).stdout);
    expect(results).toEqual([
      { text: "the red  robot sees a cat", tokens: "the red robot sees a cat".split(" "), tags: "D A N V D N".split(" ") },
    ]);
    expect((await place.done("tag", "words", "the red robot sees a cat")).stdout).toBe(
      "the red robot sees a cat\nD   A   N     V    D N\n\n",
    );
  });

  it("tags characters where the model was trained on them, those that it does not know too", async () => {
    const { stdout, stderr } = await place.done("tag", "letters", "cab", "ab é", "--json");
    const [known, other] = onlyLine(stdout).results;
    expect(known).toEqual({ text: "cab", tokens: ["c", "a", "b"], tags: ["C", "V", "C"] });
    expect(other.tokens).toEqual(["a", "b", " ", "é"]);
    expect(other.tags).toHaveLength(4);
    expect(stderr).toBe("warning: 2 tokens are not in the vocabulary and count as unknown\n");
  });

  it("breaks rows that are wider than the terminal, and shows line ends", () => {
    expect(rows({ text: "", tokens: ["one", "\n", "three"], tags: ["NUM", "S", "NUM"] }, 9)).toBe("one \\n\nNUM S\nthree\nNUM\n");
  });
});

describe("what a model cannot read as it is", () => {
  it("is cut at the context, and counted", async () => {
    const { model } = open(place.path("words"));
    const long = "cat ".repeat(model.context + 5).trim();
    const { stdout, stderr } = await place.done("tag", "words", long, "a cat", "--json");
    const [{ tokens, tags }] = onlyLine(stdout).results;
    expect([tokens.length, tags.length]).toEqual([model.context, model.context]);
    expect(stderr).toBe(`warning: 1 of 2 texts are longer than the context of ${model.context} tokens and are cut\n`);
    const cut = await place.fed(`${"glad ".repeat(500)}\n`, "classify", "moods");
    expect(cut.stderr).toMatch(/^warning: 1 of 1 lines are longer than the context of \d+ tokens and are cut\n$/);
  });
});

describe("a refusal", () => {
  it.each<[string, string[], number, RegExp]>([
    ["a run that translates", ["classify", "pairs", "hello"], 2, /pairs: this run translates; use qkv translate pairs$/m],
    ["a run that writes", ["tag", "rhyme", "hello"], 2, /rhyme: this run continues text; use qkv generate rhyme$/m],
    ["a run that tags", ["classify", "words", "hello"], 2, /words: this run tags; use qkv tag words$/m],
    ["a run that classifies", ["tag", "moods", "hello"], 2, /moods: this run classifies; use qkv classify moods$/m],
    ["no run", ["classify", "nowhere", "hello"], 1, /nowhere is not a run folder/],
    ["an empty text", ["classify", "moods", "", "fine"], 1, /text 1: there is nothing in it that the model could read/],
    ["a text of spaces", ["tag", "words", "  ", "--json"], 1, /text 1: there is nothing in it/],
    ["nothing at all", ["classify", "moods"], 1, /standard input: nothing came; write a text after the run folder/],
    ["no threads", ["tag", "words", "a", "--threads", "0"], 2, /a whole number from 1 on is wanted/],
  ])("of %s is one sentence", async (_, args, code, sentence) => {
    expectRefusal(await place.qkv(...args), code, sentence);
  });

  it("of a damaged line names it", async () => {
    expectRefusal(await place.fed(Uint8Array.of(0x61, 0x0a, 0xff), "tag", "words"), 1, /standard input, line 2, byte 2: invalid UTF-8/);
  });

  it("of a terminal without a text says what to give", () => {
    const terminal = { isTTY: true } as NodeJS.ReadStream;
    expect(() => givenTexts([], terminal)).toThrow(
      new ConfigError("no text was given; write it after the run folder, or let the command read lines: … < lines.txt"),
    );
    expect(givenTexts(["a"], terminal)).toEqual({ unit: "text", texts: ["a"] });
  });
});

describe("many texts together", () => {
  async function all<T>(answers: AsyncIterable<T>): Promise<T[]> {
    const found: T[] = [];
    for await (const answer of answers) found.push(answer);
    return found;
  }
  const mixed = Array.from({ length: 60 }, (_, i) =>
    sentences[(i * 37) % sentences.length].text
      .split(" ")
      .slice(0, 1 + (i % 7))
      .join(" "),
  );

  it("are classified as one by one", async () => {
    const run = open(place.path("moods"));
    const classified = (texts: Texts) => all(classifyTexts(run, texts));
    const together = await classified(mixed);
    for (const [i, text] of mixed.entries()) {
      const [alone] = await classified([text]);
      expect([together[i].text, together[i].label]).toEqual([text, alone.label]);
      for (const label of ["happy", "sad"]) expect(together[i].probabilities[label]).toBeCloseTo(alone.probabilities[label], 5);
    }
  });

  it("are tagged as one by one", async () => {
    const run = open(place.path("words"));
    const together = await all(tagTexts(run, mixed));
    for (const [i, text] of mixed.entries()) expect(await all(tagTexts(run, [text]))).toEqual([together[i]]);
  });

  it("come out a chunk at a time, so that an endless input needs no more memory", async () => {
    const run = open(place.path("moods"));
    const read = { count: 0 };
    async function* endless() {
      for (;;) {
        read.count++;
        yield "glad";
      }
    }
    const answers = classifyTexts(run, endless());
    expect((await answers.next()).value).toMatchObject({ text: "glad", label: "happy" });
    expect(read.count).toBeLessThanOrEqual(1025);
    await answers.return(undefined);
  });
});
