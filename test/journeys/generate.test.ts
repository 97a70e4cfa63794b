import { beforeAll, describe, expect, it } from "vitest";
import { openRun } from "../../src/runs/folder.ts";
import { tokenizerKinds } from "../../src/tokens/tokenizer.ts";
import { expectRefusal, tiny, Workplace } from "../support/command.ts";
import { pairs, rhyme } from "./samples.ts";

// `qkv generate` as people run it: prompts of every kind, every way to choose a token, and where a text stops.

const place = new Workplace();
const learns = "--layers 1 --heads 2 --width 32 --context 16 --batch 8 --steps 150 --eval-every 150 --lr 0.01 --threads 1 --quiet".split(
  " ",
);
const animals = "äöü猫😀\n";

interface Token {
  readonly token: string;
  readonly id: number;
  readonly logProbability: number;
}

interface Answer {
  readonly text: string;
  readonly tokens: number;
  readonly logProbability: number;
  readonly finish: "end" | "length" | "stop";
  readonly logProbabilities?: readonly Token[];
}

beforeAll(async () => {
  place.write("rhyme.txt", rhyme);
  place.write("animals.txt", animals.repeat(120));
  await place.done("train", "rhyme.txt", ...learns, "--tokenizer", "char", "--out", "rhyme");
  await place.done("train", "rhyme.txt", ...learns, "--tokenizer", "bpe", "--out", "pairs");
  await place.done("train", "animals.txt", ...learns, "--tokenizer", "byte", "--out", "animals");
});

const known = new Map<string, ReturnType<typeof answered>>();

/** What the command answers; asked the same again, the same answer. */
function written(...args: readonly string[]): ReturnType<typeof answered> {
  const answer = known.get(args.join(" ")) ?? answered(args);
  known.set(args.join(" "), answer);
  return answer;
}

async function answered(args: readonly string[]) {
  const { stdout, stderr } = await place.done("generate", ...args, "--json");
  expect(stdout).toMatch(/^\{.*\}\n$/);
  const { samples, ...rest } = JSON.parse(stdout) as { prompt: string; samples: Answer[]; rounding?: Record<string, number> };
  return { ...rest, samples, first: samples[0], stderr };
}

const tokensOf = ({ logProbabilities = [] }: Answer): readonly Token[] => logProbabilities;
const sumOf = (tokens: readonly Token[]): number => tokens.reduce((sum, { logProbability }) => sum + logProbability, 0);
const text = async (...args: readonly string[]): Promise<string> => (await written(...args)).first.text;

describe("an empty prompt", () => {
  it.each(tokenizerKinds)("of a %s model begins where a text could", async (kind) => {
    await place.done("train", "rhyme.txt", ...tiny, "--quiet", "--tokenizer", kind, "--out", kind);
    const { prompt, first } = await written(kind, "--tokens", "9");
    expect(prompt).toBe("");
    expect(first.finish === "end" || first.tokens === 9).toBe(true);
    const { tokenizer } = openRun(place.path(kind));
    const begin = kind === "char" || kind === "byte" ? tokenizer.encode("\n")[0] : tokenizer.end;
    expect((await written(kind, `${begin}`, "--ids", "--tokens", "9")).first).toEqual(first);
  });

  it("of ids is one too", async () => {
    expect(await text("rhyme", "--ids")).toBe(await text("rhyme"));
  });
});

describe("a prompt", () => {
  it("is printed with what follows it, also where nothing follows", async () => {
    const found = await text("rhyme", "the c", "--tokens", "9");
    expect((await place.done("generate", "rhyme", "the c", "--tokens", "9")).stdout).toBe(`the c${found}\n`);
    expect((await place.done("generate", "rhyme", "the c", "--bias", "2=1000")).stdout).toBe("the c\n");
  });

  it("longer than the context loses its beginning, with a warning, or is refused", async () => {
    const prompt = "the cat sat on the mat, line";
    const cut = await written("rhyme", prompt, "--tokens", "9");
    expect(cut.stderr).toBe("warning: the prompt has 28 tokens, and the context 16: its first 12 tokens are dropped\n");
    expect([cut.prompt, cut.first.text]).toEqual([prompt, await text("rhyme", prompt.slice(12), "--tokens", "9")]);
    expectRefusal(
      await place.qkv("generate", "rhyme", prompt, "--strict"),
      1,
      "DataError: the prompt has 28 tokens, and the context 16; shorten it, or leave out --strict to use its last 16 tokens\n",
    );
  });

  it("keeps its place before beams that have no room for all tokens", async () => {
    const { first, stderr } = await written("rhyme", "the c", "--beams", "2", "--tokens", "20");
    expect(stderr).toBe("warning: 5 tokens of the prompt and 20 new ones are more than the context of 16: at most 12 are written\n");
    expect([first.tokens, first.finish]).toEqual([12, "length"]);
  });

  it("has a warning for what the vocabulary does not have", async () => {
    expect((await written("rhyme", "the 猫", "--tokens", "2")).stderr).toBe(
      "warning: 1 token of the prompt is not in the vocabulary and counts as unknown\n",
    );
  });

  it("is the same in ids, and every id must be there", async () => {
    const ids = [...openRun(place.path("rhyme")).tokenizer.encode("the c")];
    expect(await text("rhyme", ids.join(), "--ids", "--tokens", "9")).toBe(await text("rhyme", "the c", "--tokens", "9"));
    for (const [list, sentence] of [
      ["5,27", "ConfigError: the token id 27 is not in the vocabulary, which goes from 0 to 26\n"],
      ["-1,5", "ConfigError: the token id -1 is not in the vocabulary, which goes from 0 to 26\n"],
      ["5,x", 'ConfigError: --ids wants whole numbers with commas in between, not "x"\n'],
      ["5,,6", 'ConfigError: --ids wants whole numbers with commas in between, not ""\n'],
      ["1.5", 'ConfigError: --ids wants whole numbers with commas in between, not "1.5"\n'],
    ])
      expectRefusal(await place.qkv("generate", "rhyme", "--ids", "--", list), 2, sentence);
  });
});

describe("the next token", () => {
  const begin = ["rhyme", "the c", "--tokens", "30"];

  it.each([
    ["--temperature", "0", "--seed", "2"],
    ["--beams", "1"],
    ["--top-k", "1"],
    ["--top-p", "0"],
    ["--min-p", "1"],
  ])("is the likeliest with %s %s", async (...flags) => {
    expect(await text(...begin, ...flags)).toBe(await text(...begin, "--temperature", "0"));
  });

  it("follows from the seed, and --top-k 0 and --top-p 1 leave all tokens", async () => {
    const usual = await text(...begin);
    for (const flags of [
      ["--seed", "1"],
      ["--top-k", "0"],
      ["--top-p", "1"],
    ])
      expect(await text(...begin, ...flags)).toBe(usual);
    expect(await text(...begin, "--seed", "2", "--temperature", "1.5")).not.toBe(await text(...begin, "--temperature", "1.5"));
  });

  it("is another for each sample, and the first sample is the only one", async () => {
    const { first } = await written(...begin, "--temperature", "1.5");
    const { samples } = await written(...begin, "--temperature", "1.5", "--samples", "3");
    expect(samples[0]).toEqual(first);
    expect(new Set(samples.map((sample) => sample.text)).size).toBe(3);
  });

  it("is not one that a bias forbids", async () => {
    const { first } = await written(...begin, "--temperature", "0", "--log-probabilities");
    const [{ id, token }] = tokensOf(first);
    expect(first.text).toContain(token);
    expect(await text(...begin, "--temperature", "0", "--bias", `${id}=-Infinity`)).not.toContain(token);
  });

  it("comes again less often with a penalty", async () => {
    const mostOften = async (...flags: string[]) => {
      const all = [...(await text(...begin, "--temperature", "0", ...flags))];
      return Math.max(...all.map((one) => all.filter((other) => other === one).length));
    };
    expect(await mostOften("--repetition-penalty", "5")).toBeLessThan(await mostOften());
  });

  it("has a log-probability, and they add up", async () => {
    const { prompt, samples, first, ...rest } = await written(...begin, "--log-probabilities");
    expect(rest).toEqual({ stderr: "" });
    const { logProbabilities, ...sample } = first;
    expect(sample).toEqual({ text: expect.any(String), tokens: 30, logProbability: expect.any(Number), finish: "length" });
    expect(logProbabilities).toHaveLength(30);
    expect(sumOf(tokensOf(first))).toBeCloseTo(sample.logProbability, 9);
    expect([prompt, samples]).toEqual(["the c", [first]]);
  });
});

describe("beams", () => {
  it("are no search when there is one and flags ask for chance, and several do not mind a seed", async () => {
    const drawn = ["rhyme", "the c", "--tokens", "12", "--temperature", "0.9", "--seed", "3"];
    expect(await text(...drawn, "--beams", "1")).toBe(await text(...drawn));
    const begin = ["rhyme", "the c", "--tokens", "8", "--beams", "2"];
    expect(await text(...begin, "--seed", "3", "--temperature", "0")).toBe(await text(...begin));
  });

  const begin = ["rhyme", "the ", "--tokens", "8"];

  it("give the likeliest texts, the best first, none less likely than the greedy one", async () => {
    const { samples } = await written(...begin, "--beams", "4", "--samples", "3");
    const { first: greedy } = await written(...begin, "--beams", "1");
    const scores = samples.map(({ logProbability }) => logProbability);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(scores[0]).toBeGreaterThanOrEqual(greedy.logProbability - 1e-4);
    expect(new Set(samples.map((sample) => sample.text)).size).toBe(3);
  });

  it("count tokens as far as the stop string", async () => {
    const { first } = await written(...begin, "--beams", "2", "--log-probabilities");
    const stopped = await written(...begin, "--beams", "2", "--stop", first.text.slice(2, 4));
    expect(stopped.first).toMatchObject({ text: first.text.slice(0, 2), tokens: 4, finish: "stop" });
    expect(stopped.first.logProbability).toBeCloseTo(sumOf(tokensOf(first).slice(0, 4)), 4);
  });
});

describe("a stop string", () => {
  it.each(["rhyme", "pairs"])("may lie across tokens of the model %s", async (run) => {
    const greedy = [run, "the cat", "--tokens", "20", "--temperature", "0"];
    const { first } = await written(...greedy, "--log-probabilities");
    const [{ token }] = tokensOf(first);
    const stop = first.text.slice(token.length - 1, token.length + 1); // the end of one token and the beginning of the next
    const expected = first.text.slice(0, first.text.indexOf(stop));
    expect((await written(...greedy, "--stop", stop)).first).toMatchObject({ text: expected, finish: "stop" });
    expect((await place.done("generate", ...greedy, "--stop", stop)).stdout).toBe(`the cat${expected}\n`);
  });

  it("is the first of several, and nothing if it does not come", async () => {
    const greedy = ["rhyme", "the cat", "--tokens", "20", "--temperature", "0"];
    const whole = await text(...greedy);
    expect(await text(...greedy, "--stop", whole.slice(9, 15), "--stop", whole.slice(4, 7))).toBe(
      whole.slice(0, Math.min(whole.indexOf(whole.slice(9, 15)), whole.indexOf(whole.slice(4, 7)))),
    );
    expect((await written(...greedy, "--stop", "XYZ")).first).toMatchObject({ text: whole, finish: "length" });
  });
});

it.each([1, 6, 9, 40])("a character is printed whole or not at all, with %i bytes", async (tokens) => {
  const { stdout } = await place.done("generate", "animals", "ä", "--temperature", "0", "--tokens", `${tokens}`);
  const bytes = Buffer.from(animals.repeat(5))
    .subarray(0, 2 + tokens)
    .toString();
  expect(stdout).toBe(`${bytes.replace(/\uFFFD+$/, "")}\n`);
});

describe("a wrong value is refused", () => {
  it.each<[string, RegExp]>([
    ["--top-p 1.5", /'--top-p <share>' argument '1.5' is invalid\. a number from 0 to 1 is wanted\./],
    ["--top-p -1", /'--top-p <share>' argument '-1' is invalid\. a number from 0 to 1 is wanted\./],
    ["--min-p 2", /a number from 0 to 1 is wanted\./],
    ["--top-k -1", /a whole number from 0 on is wanted\./],
    ["--temperature -1", /a number from 0 to 1000 is wanted\./],
    ["--repetition-penalty 0", /a number from 0.01 to 1000 is wanted\./],
    ["--tokens 1e12", /--tokens: a whole number from 1 to 1,000,000,000 is wanted/],
    ["--stop=", /an empty text would stop at once\./],
    ["--bias 5=x", /a token id and a number up to a million are wanted, such as 17=-2\.5/],
    ["--bias 5=1e39", /a token id and a number up to a million are wanted/],
    ["--beams 1001", /^ConfigError: --beams: a whole number from 1 to 1,000 is wanted, not 1,001\n$/],
    ["--bias 27=1", /^ConfigError: --bias: the token id 27 is not in the vocabulary, which goes from 0 to 26\n$/],
    ["--beams 2 --temperature 1", /^ConfigError: --temperature is for texts that are drawn by chance;/],
    ["--length-penalty 1", /^ConfigError: --length-penalty compares beams/],
    ["--beams 2 --samples 3", /^ConfigError: 2 beams give at most 2 samples, not 3\n$/],
  ])("%s", async (flags, sentence) => {
    expectRefusal(await place.qkv("generate", "rhyme", "the", ...flags.split(" ")), 2, sentence);
  });
});

it("weights that are too narrow to be rounded are said so, when a model writes, translates and is measured", async () => {
  await place.done("train", "rhyme.txt", ...tiny, "--quiet", "--out", "narrow");
  place.write("pairs.tsv", pairs);
  await place.done("train", "pairs.tsv", ...tiny, "--quiet", "--out", "narrow-pairs");
  const warning = /^warning: q4(: \d+ of \d+| changes nothing: all \d+) weight matrices have fewer than 32 inputs and stay as they are\n/;
  expect((await place.done("generate", "narrow", "the", "--tokens", "3", "--weights", "q4")).stderr).toMatch(warning);
  for (const command of ["eval narrow", "translate narrow-pairs number", "eval narrow-pairs"]) {
    expect((await place.done(...command.split(" "), "--weights", "q4")).stderr, command).toMatch(warning);
    expect((await place.done(...command.split(" "))).stderr, command).not.toContain("matrices");
  }
});

it.each(["q8", "q4"])("weights of %s come with what they cost", async (precision) => {
  const { rounding, stderr, first } = await written("rhyme", "the c", "--tokens", "9", "--weights", precision);
  expect(stderr).toMatch(
    new RegExp(`^${precision}: perplexity \\d+\\.\\d{4} → \\d+\\.\\d{4} \\([+-]\\d+\\.\\d\\d %\\) on \\d+ held-out tokens\n$`),
  );
  expect(first.tokens).toBe(9);
  const measured = async (...flags: string[]) => JSON.parse((await place.done("eval", "rhyme", "--json", ...flags)).stdout).perplexity;
  expect(rounding).toEqual({
    precision,
    f32: expect.closeTo(await measured(), 3),
    rounded: expect.closeTo(await measured("--weights", precision), 3),
    tokens: expect.any(Number),
  });
});
