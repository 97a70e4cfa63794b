import { chmodSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { expectRefusal, tiny, Workplace } from "../support/command.ts";

// `qkv look` as people run it, on models of a few steps.

const place = new Workplace();
const wicked = `<script>alert("1")</script> & ]]> 'it'\n`;
const translating = "--layers 2 --heads 2 --width 16 --context 16 --batch 4 --steps 6 --threads 1".split(" ");

beforeAll(async () => {
  place.write("text.txt", wicked.repeat(40));
  const pairs = ["ab\tba", "abc\tcba", "bca\tacb", "cab\tbac", "aab\tbaa", "bba\tabb", "cc\tcc", "ca\tac"];
  place.write("pairs.tsv", `source\ttarget\n${pairs.map((pair) => `${pair}\n`).join("")}`);
  place.write("labels.tsv", `text\tlabel\n${pairs.map((pair, i) => `${pair.replace("\t", "")}\t${i % 2 ? "odd" : "even"}\n`).join("")}`);
  await place.done("train", "text.txt", "--out", "lm", "--tokenizer", "char", "--quiet", ...tiny);
  await place.done(
    "train",
    "text.txt",
    "--out",
    "rnn-lm",
    "--model",
    "rnn",
    "--tokenizer",
    "char",
    "--quiet",
    ..."--width 8 --context 16 --batch 4 --steps 2 --threads 1".split(" "),
  );
  await place.done("train", "pairs.tsv", "--out", "pairs", "--tokenizer", "char", "--quiet", ...translating);
  await place.done(
    "train",
    "pairs.tsv",
    "--out",
    "rnn",
    "--model",
    "rnn",
    "--tokenizer",
    "char",
    "--quiet",
    ..."--width 8 --context 16 --batch 4 --steps 2 --threads 1".split(" "),
  );
  await place.done("train", "labels.tsv", "--out", "labels", "--tokenizer", "char", "--pool", "class", "--quiet", ...translating);
});

const look = (...args: string[]) => place.qkv("look", ...args, "--threads", "1");

async function json(...args: string[]) {
  const { stdout, stderr, code } = await look(...args, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  return JSON.parse(stdout);
}

describe("qkv look --json", () => {
  it("gives the promised form, with rows that sum to one and nothing of the future", async () => {
    const { tokens, targetTokens, kind, layers, ...rest } = await json("lm", "alert");
    expect(rest).toEqual({});
    expect([tokens, targetTokens, kind]).toEqual([[..."alert"], [..."alert"], "self"]);
    expect(layers).toHaveLength(1);
    expect(layers[0].heads[0].pattern).toHaveLength(5);
    for (const [i, row] of layers[0].heads[0].pattern.entries()) {
      expect(row.reduce((a: number, b: number) => a + b)).toBeCloseTo(1, 5);
      expect(row.slice(i + 1).every((p: number) => p === 0)).toBe(true);
    }
  });

  it("of an encoder–decoder, its encoder, its decoder, an RNN and a classifier", async () => {
    const cross = await json("pairs", "abc", "--target", "cb", "--layer", "1", "--head", "0");
    expect([cross.tokens, cross.targetTokens, cross.kind]).toEqual([["a", "b", "c", "</s>"], ["c", "b", "</s>"], "cross"]);
    expect(cross.layers).toEqual([{ layer: 1, heads: [{ head: 0, pattern: expect.any(Array) }] }]);
    expect((await json("pairs", "abc", "--target", "cb", "--kind", "self")).tokens).toEqual(["<s>", "c", "b"]);
    expect((await json("pairs", "abc", "--kind", "encoder")).targetTokens).toEqual(["a", "b", "c", "</s>"]);
    expect((await json("rnn", "abc")).layers[0].heads).toHaveLength(1);
    expect((await json("labels", "abc")).tokens).toEqual(["<class>", "a", "b", "c"]);
  });

  it("cuts a long text with a warning", async () => {
    const { stdout, stderr } = await look("lm", "a".repeat(30), "--json");
    expect(JSON.parse(stdout).tokens).toHaveLength(16);
    expect(stderr).toBe("warning: the text has 30 tokens, and the context 16: its last 14 tokens are dropped\n");
  });

  it("of the next token follows the end of a long text", async () => {
    const end = "<script>alert(1)".slice(-16);
    const { stdout, stderr } = await look("lm", `${"a".repeat(20)}${end}`, "--view", "next", "--json");
    expect(stderr).toBe("warning: the text has 36 tokens, and the context 16: its first 20 tokens are dropped\n");
    expect(JSON.parse(stdout).candidates).toEqual((await json("lm", end, "--view", "next")).candidates);
  });

  it("of every view", async () => {
    expect((await json("lm", "alert", "--view", "statistics")).layers[0].heads[0].entropy).toBeGreaterThan(0);
    expect((await json("lm", "alert", "--view", "lens", "--top", "2")).layers[0].positions[4].top).toHaveLength(2);
    expect((await json("lm", "alert", "--view", "rollout")).layers).toHaveLength(1);
    expect((await json("lm", "alert", "--view", "next", "--top", "3")).candidates).toHaveLength(3);
    expect((await json("lm", "--view", "positions")).table).toHaveLength(16);
    expect((await json("lm", "--view", "path")).lengths[0].path.counted).toBe(1);
    expect((await json("lm", "--view", "loss")).series[0].points).toHaveLength(6);
    expect((await json("lm", "alert", "--view", "geometry")).panels).toHaveLength(4);
    expect((await json("pairs", "abc", "--view", "alignment")).path.length).toBeGreaterThan(0);
    expect((await json("lm", "alert", "--query", "r")).attended).toHaveLength(1);
    const { answer, parts } = await json("pairs", "abc", "--target", "cb", "--view", "attribution", "--position", "1");
    expect([answer.of, answer.label, answer.position]).toEqual(["next token", "b", 1]);
    expect(parts.map((part: { of: string; tokens: string[] }) => [part.of, part.tokens.join(" ")])).toEqual([
      ["text", "a b c </s>"],
      ["target", "<s> c"],
    ]);
    expect(parts[0].gradient).toHaveLength(4);
  });
});

describe("qkv look in a terminal", () => {
  it("draws a map and a line for each head", async () => {
    const { stdout } = await place.done("look", "pairs", "abc", "--target", "cba", "--threads", "1");
    expect(stdout).toContain("layer 0, the mean of 2 heads: rows look at columns");
    expect(stdout).toMatch(/^head 1 {2}entropy \d\.\d\d \(\d\.\d tokens\) {2}first 0\.\d\d {2}same token 0\.\d\d$/m);
    expect(stdout).toMatch(/[░▒▓█]/);
    expect(stdout).not.toContain("\x1b");
  });

  it.each(["statistics", "lens", "rollout", "next", "geometry", "attribution"])("says something for the view %s", async (view) => {
    const { stdout, code } = await look("lm", "alert", "--view", view);
    expect([code, stdout.length > 20]).toEqual([0, true]);
  });

  it.each(["positions", "loss", "path"])("and for the view %s, without a text", async (view) => {
    const { stdout, code } = await look("lm", "--view", view);
    expect([code, stdout.length > 20]).toEqual([0, true]);
  });
});

describe("qkv look --out", () => {
  it.each([
    ["attention", ".svg"],
    ["attention", ".html"],
    ["rollout", ".html"],
    ["statistics", ".svg"],
    ["next", ".svg"],
    ["next", ".html"],
    ["geometry", ".svg"],
    ["lens", ".svg"],
    ["attribution", ".svg"],
  ])("the view %s as %s, in which <script> stays text", async (view, ending) => {
    const { stdout } = await place.done("look", "lm", `<script>al`, "--view", view, "--out", `pictures/${view}${ending}`, "--threads", "1");
    expect(stdout).toBe(`wrote pictures/${view}${ending}\n`);
    const content = readFileSync(place.path("pictures", `${view}${ending}`), "utf8");
    expect(content).toContain(ending === ".svg" ? "<svg" : "<!doctype html>");
    expect(content).not.toContain("<script>al");
    if (ending === ".svg") expect(content).not.toMatch(/NaN|undefined/);
  });

  it("writes JSON and PNG too", async () => {
    await place.done("look", "rnn", "abc", "--out", "look.json", "--threads", "1");
    expect(JSON.parse(readFileSync(place.path("look.json"), "utf8")).kind).toBe("cross");
    await place.done("look", "rnn", "abc", "--out", "look.png", "--threads", "1");
    expect([...readFileSync(place.path("look.png")).subarray(1, 4)]).toEqual([..."PNG"].map((c) => c.charCodeAt(0)));
    for (const view of ["positions", "loss"]) await place.done("look", "lm", "--view", view, "--out", `${view}.svg`);
  });
});

describe("qkv look refuses, in one sentence,", () => {
  it.each([
    [["lm", ""], /there is no token in the text to look at/],
    [["lm"], /the view attention needs a text to look at; write it after the run folder/],
    [["lm", "a", "--view", "loss"], /the view loss is the same for every text; leave "a" out/],
    [["lm", "a", "--view", "next", "--head", "0"], /--head has no meaning for the view next; leave it out/],
    [["lm", "a", "--layer", "3"], /there is no layer 3; the model has only layer 0/],
    [["lm", "a", "--head", "3"], /there is no head 3; the model has only head 0/],
    [["lm", "a", "--layer", "-1"], /a whole number from 0 on is wanted/],
    [["lm", "a", "--kind", "cross"], /a decoder has no attention of the kind "cross"; it has self/],
    [["lm", "a", "--kind", "other"], /Allowed choices are self, cross, encoder/],
    [["lm", "a", "--target", "b"], /a target is for models that translate/],
    [["lm", "a", "--out", "map.gif"], /--out map.gif: the view attention can be written as .svg, .png, .html or .json/],
    [["lm", "--view", "path", "--out", "path.svg"], /the view path can be written as .json/],
    [["lm", "a", "--view", "tags"], /lm: this run continues text; use qkv generate lm/],
    [["labels", "abc", "--view", "attribution", "--label", "evn"], /no label is called "evn"; did you mean "even"\?/],
    [["labels", "abc", "--view", "attribution", "--position", "1"], /a label belongs to the whole text; leave the position out/],
    [["lm", "aa", "--query", "a"], /"a" occurs at the places 0, 1; give one of these numbers/],
    [["rnn-lm", "a"], /an RNN language model has no attention to look at/],
  ])("%j", async (args, sentence) => {
    expectRefusal(await look(...args), 2, sentence);
  });

  it("a log that is damaged", async () => {
    const log = place.path("rnn", "log.jsonl");
    place.write("rnn/log.jsonl", `${readFileSync(log, "utf8")}{"step":`);
    expectRefusal(await look("rnn", "--view", "loss"), 1, /log.jsonl, line \d+: not a line of a training log/);
    expectRefusal(await look("nowhere", "--view", "loss"), 1, /nowhere is not a run folder/);
  });

  it("a folder that is no run, and a place that cannot be written", async () => {
    expectRefusal(await look("nowhere", "a"), 1, /nowhere is not a run folder/);
    place.write("file", "");
    expectRefusal(
      await look("lm", "a", "--out", "file/map.svg"),
      1,
      /could not make the folder file: something with this name is there already; move it away/,
    );
    if (process.getuid?.() === 0) return; // root may write anywhere
    place.write("closed/file", "");
    chmodSync(place.path("closed"), 0o500);
    expectRefusal(await look("lm", "a", "--out", "closed/map.svg"), 1, /you have no permission/);
  });
});
