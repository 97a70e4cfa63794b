import { describe, expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import type { ExampleOptions } from "../../src/text/examples.ts";
import { parseExamples } from "../../src/text/parse-examples.ts";
import type { TableFormat } from "../../src/text/rows.ts";

function refusal(text: string, format: TableFormat, options?: ExampleOptions): string {
  try {
    parseExamples(text, format, `data.${format}`, options);
  } catch (error) {
    if (error instanceof DataError) return error.message;
    throw error;
  }
  return "";
}

const json = (...rows: unknown[]): string => rows.map((row) => JSON.stringify(row)).join("\n");

describe("the task", () => {
  it("shows in the columns", () => {
    expect(parseExamples("id\tlabel\ttext\n1\tpos\tgood\n", "tsv", "a.tsv")).toEqual({
      task: "classify",
      examples: [{ text: "good", label: "pos", file: "a.tsv", line: 2 }],
    });
    expect(parseExamples("source,target\none,eins\n", "csv", "a.csv")).toEqual({
      task: "translate",
      examples: [{ source: "one", target: "eins", file: "a.csv", line: 2 }],
    });
    expect(parseExamples(json({ text: "a b", tags: ["X", "Y"] }, { text: "c", tags: " Z  W " }), "jsonl", "a.jsonl")).toEqual({
      task: "tag",
      examples: [
        { text: "a b", tags: ["X", "Y"], file: "a.jsonl", line: 1 },
        { text: "c", tags: ["Z", "W"], file: "a.jsonl", line: 2 },
      ],
    });
  });

  it("is to give several labels where the column is called so, unless there is one for a single label", () => {
    const rows = json(
      { text: "a", labels: ["x", "y", "x"] },
      { text: "b", labels: "y  z" },
      { text: "c", labels: [] },
      { text: "d", labels: " " },
    );
    const { task, examples } = parseExamples(rows, "jsonl", "a.jsonl");
    expect(task).toBe("classify");
    expect(examples.map((example) => "labels" in example && example.labels)).toEqual([["x", "y"], ["y", "z"], [], []]);
    expect(parseExamples("text,labels\na,x y\nb,\n", "csv", "a").examples).toMatchObject([{ labels: ["x", "y"] }, { labels: [] }]);
    expect(parseExamples("text,label,labels\na,x,y z\n", "csv", "a").examples).toMatchObject([{ text: "a", label: "x" }]);
    expect(parseExamples("text,label,topics\na,x,y z\n", "csv", "a", { columns: { labels: "topics" } }).examples).toMatchObject([
      { text: "a", labels: ["y", "z"] },
    ]);
    expect(refusal("text,label\na,x\n", "csv", { task: "classify", labelling: "several" })).toBe(
      'data.csv, line 1: no column "labels" (found "text", "label"; did you mean "label"?); rename one, or give its name with columns.labels',
    );
    expect(refusal(json({ text: "a", labels: ["x", ""] }), "jsonl")).toMatch('label 2 of the column "labels" is empty');
  });

  it("must be chosen when the columns fit more than one", () => {
    const both = "text\tlabel\ttarget\na\tb\tc\n";
    expect(refusal(both, "tsv")).toBe(
      'data.tsv, line 1: the columns "label" (classify), "target" (translate) fit more than one task; choose with task: "classify"|"translate"',
    );
    expect(parseExamples(both, "tsv", "a", { task: "classify" }).task).toBe("classify");
    expect(parseExamples(both, "tsv", "a", { columns: { source: "text", target: "target" } }).task).toBe("translate");
  });

  it("must show at all", () => {
    expect(refusal("text\tlable\na\tb\n", "tsv")).toBe(
      'data.tsv, line 1: no column tells the task (found "text", "lable"; did you mean "label"?); ' +
        'wanted one of "label" (classify), "tags" (tag), "target" (translate), "completion" (lm); ' +
        "rename one, or give its name with columns.label, columns.tags, columns.target or columns.completion",
    );
  });
});

describe("columns", () => {
  it("can have other names, even __proto__", () => {
    const options = { columns: { text: "__proto__", label: "stars" } };
    expect(parseExamples("__proto__,stars,target\ngood,5,x\n", "csv", "a", options).examples).toEqual([
      { text: "good", label: "5", file: "a", line: 2 },
    ]);
    expect(parseExamples('{"__proto__": "good", "stars": 5}', "jsonl", "a", options).examples).toMatchObject([
      { text: "good", label: "5" },
    ]);
  });

  it("that are missing are named, with the nearest one and the setting", () => {
    expect(refusal("txet\tlabel\na\tb\n", "tsv")).toBe(
      'data.tsv, line 1: no column "text" (found "txet", "label"; did you mean "txet"?); rename one, or give its name with columns.text',
    );
    expect(refusal("en,de\na,b\n", "csv", { task: "translate" })).toBe(
      'data.csv, line 1: no column "source" (found "en", "de"); rename one, or give its name with columns.source',
    );
    expect(refusal("text,stars\na,b\n", "csv", { columns: { label: "star" } })).toBe(
      'data.csv, line 1: no column "star" (found "text", "stars"; did you mean "stars"?); rename one, or give its name with columns.label',
    );
    expect(refusal(json({ text: "a", label: "b" }, { text: "c" }), "jsonl")).toBe(
      'data.jsonl, line 2: no column "label" (found "text"); rename one, or give its name with columns.label',
    );
    const many = Array.from({ length: 5000 }, (_, i) => `column${i}`.repeat(30));
    expect(refusal(`${many.join("\t")}\n${many.join("\t")}\n`, "tsv", { task: "tag" }).length).toBeLessThan(700);
  });
});

describe("a field", () => {
  it("is not empty", () => {
    expect(refusal("text\tlabel\na\tb\nc\t\n", "tsv")).toBe(
      'data.tsv, line 3: the column "label" is empty; every example needs a label (remove the line or fill it in)',
    );
    expect(refusal("text,stars\n ,5\n", "csv", { columns: { label: "stars" } })).toBe(
      'data.csv, line 2: the column "text" is empty; every example needs a text (remove the line or fill it in)',
    );
    expect(refusal(json({ source: "a", target: "" }), "jsonl")).toBe(
      'data.jsonl, line 1: the column "target" is empty; every example needs a target (remove the line or fill it in)',
    );
  });

  it("has at least one tag", () => {
    const message = 'data.jsonl, line 1: the column "tags" is empty; every example needs tags (remove the line or fill it in)';
    expect(refusal(json({ text: "a", tags: [] }), "jsonl")).toBe(message);
    expect(refusal(json({ text: "a", tags: " " }), "jsonl")).toBe(message);
    expect(refusal(json({ text: "a", tags: ["X", ""] }), "jsonl")).toBe(
      'data.jsonl, line 1: tag 2 of the column "tags" is empty; every example needs tags (remove the line or fill it in)',
    );
    expect(refusal(json({ text: "a", tags: ["X", ["Y"]] }), "jsonl")).toBe(
      'data.jsonl, line 1: tag 2 of the column "tags" holds a list; wanted text, a number or true or false',
    );
  });

  it("may be a number or a truth value in JSON", () => {
    const { examples } = parseExamples(json({ text: "a", label: 1.5 }, { text: 7, label: false }), "jsonl", "a");
    expect(examples).toMatchObject([
      { text: "a", label: "1.5" },
      { text: "7", label: "false" },
    ]);
  });

  it("is nothing else in JSON", () => {
    const start = 'data.jsonl, line 1: the column "label"';
    expect(refusal('{"text": "a", "label": null}', "jsonl")).toBe(`${start} holds null; wanted text, a number or true or false`);
    expect(refusal('{"text": "a", "label": {"b": 1}}', "jsonl")).toBe(`${start} holds an object; wanted text, a number or true or false`);
    const large = `${start} holds a number too large to be kept exactly; put it between quotes`;
    expect(refusal('{"text": "a", "label": 12345678901234567890}', "jsonl")).toBe(large);
    expect(refusal('{"text": "a", "label": 1e999}', "jsonl")).toBe(large);
    expect(refusal('{"text": "a", "label": "b\\u0000"}', "jsonl")).toBe(`${start} holds a NUL character, which no text has; remove it`);
    expect(refusal('{"text": "a", "label": "\\ud83d"}', "jsonl")).toBe(
      `${start} holds half a surrogate pair (\\ud800 to \\udfff), which is no character; remove it`,
    );
    expect(refusal('{"text": "a", "label": "\\ud83d\\udc4d"}', "jsonl")).toBe("");
  });
});

describe("answers to learn", () => {
  const read = (text: string, format: "jsonl" | "tsv" | "csv", columns = {}) => parseExamples(text, format, "data", { columns });
  const user = { role: "user", content: "Hi" };
  const answer = { role: "assistant", content: "Hello" };
  const line = (row: object) => `${JSON.stringify(row)}\n`;

  it("are completions of prompts, or the assistant's messages", () => {
    expect(read("prompt\tcompletion\nHi\tHello\n", "tsv")).toEqual({
      task: "lm",
      examples: [{ prompt: "Hi", completion: "Hello", file: "data", line: 2 }],
    });
    expect(read("question,answer\nHi,Hello\n", "csv", { prompt: "question", completion: "answer" }).examples).toHaveLength(1);
    expect(read(line({ messages: [user, answer] }), "jsonl").examples).toEqual([{ messages: [user, answer], file: "data", line: 1 }]);
    expect(read(line({ prompt: [user], completion: [answer] }), "jsonl").examples).toEqual([
      { messages: [user, answer], from: 1, file: "data", line: 1 },
    ]);
    const cell = JSON.stringify([user, answer]);
    expect(read(`id\tmessages\n1\t${cell}\n`, "tsv").examples).toEqual([{ messages: [user, answer], file: "data", line: 2 }]);
  });

  it.each([
    [{ prompt: "Hi", completion: "" }, 'data, line 1: the column "completion" is empty; every example needs a completion'],
    [{ messages: "Hi" }, 'data, line 1: the column "messages" holds "Hi"; wanted a list of { role, content }'],
    [{ messages: [] }, 'data, line 1: the column "messages" holds no message; wanted a list of { role, content }'],
    [{ messages: [{ content: "Hi" }] }, 'data, line 1: message 1 of the column "messages" has no role, such as "user" or "assistant"'],
    [
      { messages: [{ role: "user", content: [] }] },
      'data, line 1: message 1 of the column "messages" has a list for its content; wanted text',
    ],
    [{ messages: [7] }, 'data, line 1: message 1 of the column "messages" is 7; wanted { role, content }'],
  ])("are refused with their line: %j", (row, message) => {
    expect(() => read(line(row), "jsonl")).toThrow(message);
  });
});
