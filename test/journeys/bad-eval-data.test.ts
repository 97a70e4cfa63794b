import { mkdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { expectRefusal, tiny, Workplace } from "../support/command.ts";
import { moods, rhyme } from "./samples.ts";

// Data that a trained model cannot be measured on is refused; what can be measured only in part is told in a warning.

const place = new Workplace();

beforeAll(() => {
  place.write("good.txt", rhyme);
  place.write("good.tsv", moods);
  place.write("missing-column.tsv", "text\tlabl\nhello\tgood\nbye\tbad\n");
  place.write("latin1.txt", Buffer.from("good line\nna\xefve line\n", "latin1"));
  place.write("empty.txt", "");
  mkdirSync(place.path("folder"));
});

describe("qkv eval", () => {
  beforeAll(async () => {
    place.write("unknown-label.tsv", "text\tlabel\nhello\tgood\nbye\tmeh\n");
    await place.done("train", "good.tsv", ...tiny, "--out", "moods");
    await place.done("train", "good.txt", ...tiny, "--out", "rhyme");
  });

  it.each<[string, string[], string]>([
    [
      "an unknown label",
      ["moods", "unknown-label.tsv"],
      'DataError: unknown-label.tsv, line 3: the label "meh" is not one that the model knows (bad, good)',
    ],
    [
      "text for a classifier",
      ["moods", "good.txt"],
      "DataError: good.txt: a .txt is plain text, for --task lm; classify wants the columns",
    ],
    [
      "examples for a language model",
      ["rhyme", "good.tsv"],
      'DataError: good.tsv, line 1: no column "prompt" (found "text", "label"); rename one, or give its name with --prompt-column',
    ],
    ["a missing column", ["moods", "missing-column.tsv"], 'DataError: missing-column.tsv, line 1: no column "label" (found "text", "labl"'],
    ["an empty file", ["rhyme", "empty.txt"], "DataError: empty.txt: the file is empty; "],
    ["text that is not UTF-8", ["rhyme", "latin1.txt"], "DataError: latin1.txt, line 2, byte 12: invalid UTF-8 (found 0xEF); "],
    ["a missing file", ["rhyme", "god.txt"], 'DataError: god.txt: no such file; did you mean "good.txt"?'],
    ["a folder that is no run", ["folder"], "RunError: folder is not a run folder: there is no config.json"],
    [
      "a folder that is not there",
      ["nowhere"],
      "RunError: nowhere is not a run folder: there is no config.json; train one with: qkv train <data> --out nowhere",
    ],
    ["a folder that holds runs", ["."], "RunError: . is not a run folder: there is no config.json; did you mean moods?"],
  ])("refuses %s", async (_, args, sentence) => {
    const result = await place.qkv("eval", ...args);
    expect(result.stderr.startsWith(sentence), result.stderr).toBe(true);
    expectRefusal(result, 1, /./);
  });

  it("counts tokens that the vocabulary does not have in a warning", async () => {
    place.write("others.txt", rhyme.replaceAll("cat", "CAT"));
    place.write("others.tsv", moods.replaceAll("today", "tomorrow"));
    expect((await place.done("eval", "rhyme", "others.txt")).stderr).toBe(
      "warning: 180 tokens are not in the vocabulary and count as unknown\n",
    );
    expect((await place.done("eval", "moods", "others.tsv")).stderr).toMatch(
      /^warning: \d+ tokens are not in the vocabulary and count as unknown\n$/,
    );
  });

  it("counts examples that are cut in a warning", async () => {
    place.write("long.tsv", `${moods}${"very ".repeat(40)}happy\tgood\n`);
    expect((await place.done("eval", "moods", "long.tsv")).stderr).toContain(
      "warning: 1 of 41 examples are longer than the context of 16 tokens and are cut\n",
    );
  });
});
