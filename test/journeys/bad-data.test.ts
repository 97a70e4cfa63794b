import { existsSync, mkdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { expectRefusal, tiny, Workplace } from "../support/command.ts";
import { moods, pairs, rhyme, words } from "./samples.ts";

// Bad data is refused before any training starts: the file, the line, what was found, what was wanted.

const place = new Workplace();
const file = (name: string) => place.path(name);
const latin1 = (text: string) => Buffer.from(text, "latin1");

beforeAll(() => {
  place.write("good.txt", rhyme);
  place.write("good.tsv", moods);
  place.write("pairs.tsv", pairs);
  place.write("missing-column.tsv", "text\tlabl\nhello\tgood\nbye\tbad\n");
  place.write("missing-text.tsv", "txt\tlabel\nhello\tgood\nbye\tbad\n");
  place.write("latin1.txt", latin1("good line\nna\xefve line\n"));
  place.write("latin1.tsv", latin1("text\tlabel\nna\xefve\tgood\n"));
  place.write("cut.txt", Buffer.from("0123456789é").subarray(0, 11));
  place.write("empty.txt", "");
  place.write("empty.tsv", "");
  place.write("empty.csv", "\uFEFF\r\n");
  place.write("empty.jsonl", "\n\n");
  place.write("header.tsv", "text\tlabel\n");
  place.write("no-label.tsv", "text\tlabel\nhello\tgood\nbye\t\n");
  place.write("no-label.csv", "text,label\nhello,good\nbye,\n");
  place.write("no-label.jsonl", '{"text":"hello","label":"good"}\n{"text":"bye"}\n');
  place.write("not-json.jsonl", '{"text":"hello","label":"good"}\n{"text":"bye", label}\n');
  place.write("one-field.tsv", "text\tlabel\nhello\tgood\nbye\n");
  place.write("few.tsv", "text\tlabel\na b\tgood\nc d\tbad\ne f\tgood\n");
  place.write("short.txt", "short");
  place.write("same.tsv", moods.replaceAll("\tbad\n", "\tgood\n"));
  place.write("tags.tsv", `${words}the cat\tD N V\n`);
  place.write("paper.pdf", "%PDF");
  place.write("README", "hello");
  mkdirSync(file("folder"));
  mkdirSync(file("folder.txt"));
});

describe("qkv train", () => {
  it.each<[string, string[], () => string]>([
    [
      "a missing answer column",
      ["missing-column.tsv"],
      () =>
        `DataError: ${file("missing-column.tsv")}, line 1: no column tells the task (found "text", "labl"; did you mean "label"?); wanted one of "label" (classify), "tags" (tag), "target" (translate), "completion" (lm); rename one, or give its name with --label-column, --tags-column, --target-column or --completion-column\n`,
    ],
    [
      "a missing input column",
      ["missing-text.tsv"],
      () =>
        `DataError: ${file("missing-text.tsv")}, line 1: no column "text" (found "txt", "label"; did you mean "txt"?); rename one, or give its name with --text-column\n`,
    ],
    [
      "a column for another task",
      ["good.tsv", "--task", "translate"],
      () =>
        `DataError: ${file("good.tsv")}, line 1: no column "source" (found "text", "label"); rename one, or give its name with --source-column\n`,
    ],
    [
      "text that is not UTF-8",
      ["latin1.txt"],
      () =>
        `DataError: ${file("latin1.txt")}, line 2, byte 12: invalid UTF-8 (found 0xEF); save the file as UTF-8, for instance with \`iconv -f latin1 -t utf-8\`\n`,
    ],
    [
      "examples that are not UTF-8",
      ["latin1.tsv"],
      () => `DataError: ${file("latin1.tsv")}, line 2, byte 13: invalid UTF-8 (found 0xEF); `,
    ],
    [
      "text that ends in the middle of a character",
      ["cut.txt"],
      () => `DataError: ${file("cut.txt")}, line 1, byte 10: invalid UTF-8 (found 0xC3); `,
    ],
    ["an empty text", ["empty.txt"], () => `DataError: ${file("empty.txt")}: the file is empty; give it some text to learn from\n`],
    ["an empty .tsv", ["empty.tsv"], () => `DataError: ${file("empty.tsv")}: the file is empty; it should hold examples, one a line\n`],
    ["an empty .csv", ["empty.csv"], () => `DataError: ${file("empty.csv")}: the file is empty; it should hold examples, one a line\n`],
    [
      "an empty .jsonl",
      ["empty.jsonl"],
      () => `DataError: ${file("empty.jsonl")}: the file is empty; it should hold examples, one a line\n`,
    ],
    [
      "a header alone",
      ["header.tsv"],
      () => `DataError: ${file("header.tsv")}: a header line ("text", "label") with no example under it; add examples, one a line\n`,
    ],
    ...["tsv", "csv"].map((ending): [string, string[], () => string] => [
      `a line without a label in a .${ending}`,
      [`no-label.${ending}`],
      () =>
        `DataError: ${file(`no-label.${ending}`)}, line 3: the column "label" is empty; every example needs a label (remove the line or fill it in)\n`,
    ]),
    [
      "a line without a label in a .jsonl",
      ["no-label.jsonl"],
      () =>
        `DataError: ${file("no-label.jsonl")}, line 2: no column "label" (found "text"); rename one, or give its name with --label-column\n`,
    ],
    ["a line that is not JSON", ["not-json.jsonl"], () => `DataError: ${file("not-json.jsonl")}, line 2: not valid JSON (`],
    [
      "a line with one field",
      ["one-field.tsv"],
      () => `DataError: ${file("one-field.tsv")}, line 3: found 1 field, wanted 2 ("text", "label"); put a tab between them\n`,
    ],
    ["fewer examples than a batch", ["few.tsv"], () => `DataError: ${file("few.tsv")}: `],
    ["a text shorter than a batch", ["short.txt"], () => `DataError: ${file("short.txt")}: `],
    ["labels that are all the same", ["same.tsv"], () => `DataError: ${file("same.tsv")}: every example has the same label, "good"; `],
    ["tags that do not fit the words", ["tags.tsv"], () => `DataError: ${file("tags.tsv")}, line 42: 3 tags for 2 words; `],
    [
      "an unknown ending",
      ["paper.pdf"],
      () =>
        `DataError: ${file("paper.pdf")}: the ending .pdf; data is .txt (plain text), .tsv, .csv or .jsonl (examples), so rename the file or convert it\n`,
    ],
    ["no ending", ["README"], () => `DataError: ${file("README")}: no ending; data is .txt (plain text), .tsv, .csv or .jsonl (examples)`],
    ["a missing file", ["god.txt"], () => `DataError: ${file("god.txt")}: no such file; did you mean "good.txt"?\n`],
    ["a missing table", ["god.tsv"], () => `DataError: ${file("god.tsv")}: no such file; did you mean "good.tsv"?\n`],
    ["a folder", ["folder"], () => `DataError: ${file("folder")}: this is a folder; name a file in it\n`],
    ["a folder called like a text", ["folder.txt"], () => `DataError: ${file("folder.txt")}: this is a folder; name a file in it\n`],
    [
      "plain text to classify",
      ["good.txt", "--task", "classify"],
      () =>
        `DataError: ${file("good.txt")}: a .txt is plain text, for --task lm; --task classify wants a .tsv, .csv or .jsonl with examples\n`,
    ],
    [
      "examples for a language model",
      ["good.tsv", "--task", "lm"],
      () =>
        `DataError: ${file("good.tsv")}, line 1: no column "prompt" (found "text", "label"); rename one, or give its name with --prompt-column\n`,
    ],
    [
      "text and examples together",
      ["good.txt", "good.tsv"],
      () => `DataError: ${file("good.txt")} is text, and ${file("good.tsv")} has examples; train on one kind at a time\n`,
    ],
    [
      "text to validate examples with",
      ["good.tsv", "--valid", "good.txt"],
      () =>
        `DataError: ${file("good.txt")}: a .txt is plain text, for --task lm; classify wants the columns "text", "label" of a .tsv, .csv or .jsonl\n`,
    ],
    [
      "examples to validate text with",
      ["good.txt", "--valid", "good.tsv"],
      () => `DataError: ${file("good.tsv")}: the training data is text, so the validation data must be a .txt too\n`,
    ],
    [
      "examples of another task to validate with",
      ["good.tsv", "--valid", "pairs.tsv"],
      () => `DataError: ${file("pairs.tsv")}, line 1: no column "text" (found "source", "target"); `,
    ],
    ["a missing file to validate with", ["good.tsv", "--valid", "gone.tsv"], () => `DataError: ${file("gone.tsv")}: no such file`],
    ["a missing tokenizer", ["good.txt", "--tokenizer", "gone.json"], () => "DataError: gone.json: no such file"],
  ])("refuses %s", async (_, args, sentence) => {
    const result = await place.qkv("train", ...args, ...tiny, "--out", "run");
    expect(result.stderr.startsWith(sentence()), result.stderr).toBe(true);
    expectRefusal(result, 1, /./);
    expect(existsSync(file("run"))).toBe(false);
  });
});
