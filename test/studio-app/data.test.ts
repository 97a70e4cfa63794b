import { describe, expect, it } from "vitest";
import { formatIn, formatOf, foundIn, promptIn, promptOf } from "../../studio/learn/begin/found.ts";
import { made } from "../../studio/learn/begin/made.ts";

describe("what data is", () => {
  it("is told by the end of a file's name, and by the first line of what was pasted", () => {
    expect(["a.csv", "b.TSV", "c.jsonl", "d.txt", "e.md", "f"].map(formatOf)).toEqual(["csv", "tsv", "jsonl", "txt", "txt", "txt"]);
    expect(formatIn("text,label\ngood,yes")).toBe("csv");
    expect(formatIn('"text","label"\ngood,yes')).toBe("csv");
    expect(formatIn("source\ttarget\na\tb")).toBe("tsv");
    expect(formatIn('{"text": "a", "label": "b"}\n')).toBe("jsonl");
    expect(formatIn("Call me Ishmael, he said.\nSome years ago")).toBe("txt");
    expect(formatIn("{ not json }")).toBe("txt");
  });

  it("of a text is how long it is", () => {
    expect(foundIn("aba\nab\n", "txt", "a.txt")).toEqual({ kind: "text", characters: 7, lines: 2, different: 3 });
  });

  it("of a table is its task, its rows and its classes, the most frequent first", () => {
    const found = foundIn('text,label\n"one, two",b\nthree,a\nfour,b\n', "csv", "a.csv");
    expect(found).toMatchObject({ kind: "table", task: "classify", rows: 3, columns: ["text", "label"] });
    expect(found.kind === "table" && found.classes).toEqual([
      ["b", 2],
      ["a", 1],
    ]);
    expect(foundIn("source\ttarget\na\tb\n", "tsv", "a.tsv")).toMatchObject({ task: "translate", rows: 1, classes: [] });
    expect(foundIn('{"text":"a b","tags":"x y"}\n', "jsonl", "a.jsonl")).toMatchObject({ task: "tag", rows: 1 });
  });

  it("that cannot be read is a sentence with its place", () => {
    const found = foundIn("text,label\nonly one field\n", "csv", "bad.csv");
    expect(found).toMatchObject({ kind: "wrong" });
    expect(found.kind === "wrong" && found.message).toMatch(/bad\.csv.*2.*found 1 field/s);
    expect(foundIn("  \n", "txt", "a.txt")).toMatchObject({ kind: "wrong" });
  });

  it("gives a beginning to go on from, which ends with a word", () => {
    expect(promptIn("  Call me Ishmael. Some years ago never mind")).toBe("Call me Ishmael. Some years ago");
    expect(promptIn("short")).toBe("short");
    expect(promptIn("x".repeat(50))).toHaveLength(32);
    expect(promptOf(foundIn("source\ttarget\nwhale\telahw\n", "tsv", "a.tsv"), "")).toBe("whale");
  });

  it("that is made here is what it says, and the same each time", () => {
    for (const { name, file, text } of made) {
      const found = foundIn(text(), formatOf(file), file);
      expect(found, name).toMatchObject({ kind: "table" });
      expect(found.kind === "table" && found.rows, name).toBeGreaterThan(250);
      expect(text()).toBe(text());
    }
  });
});
