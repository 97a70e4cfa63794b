import { describe, expect, it } from "vitest";
import { DataError } from "../../src/base/errors.ts";
import { parseRows, type TableFormat } from "../../src/text/rows.ts";
import { refuseTooMany } from "../../src/text/table.ts";

function read(text: string, format: TableFormat): [number, Record<string, unknown>][] {
  return [...parseRows(text, format, `data.${format}`).rows].map(({ line, fields }) => [line, Object.fromEntries(fields)]);
}

function refusal(text: string, format: TableFormat): string {
  try {
    read(text, format);
  } catch (error) {
    if (error instanceof DataError) return error.message;
    throw error;
  }
  return "";
}

describe("a .tsv", () => {
  it("has tabs, a header line and no quoting", () => {
    expect(read('text\tlabel\n"a\tpos\n""\tneg', "tsv")).toEqual([
      [2, { text: '"a', label: "pos" }],
      [3, { text: '""', label: "neg" }],
    ]);
  });

  it("may begin with a mark, end its lines with CRLF and have blank lines", () => {
    expect(read("\uFEFF\r\ntext\tlabel\r\n\r\na\tb\r\n  \r\nc\td", "tsv")).toEqual([
      [4, { text: "a", label: "b" }],
      [6, { text: "c", label: "d" }],
    ]);
  });

  it("refuses rows with too few or too many fields", () => {
    expect(refusal("text\tlabel\na\tb\nc\n", "tsv")).toBe(
      'data.tsv, line 3: found 1 field, wanted 2 ("text", "label"); put a tab between them',
    );
    expect(refusal("text\tlabel\na\tb\tc\n", "tsv")).toBe(
      'data.tsv, line 2: found 3 fields, wanted 2 ("text", "label"); a field cannot hold a tab, as .tsv has no quoting',
    );
  });

  it("refuses a header of one column, and guesses why", () => {
    expect(refusal("text,label\na,b\n", "tsv")).toBe('data.tsv, line 1: the header has no tab, only "text,label"; is this a .csv?');
    expect(refusal("text\ra\r", "tsv")).toBe(
      'data.tsv, line 1: the header has no tab, only "text\\ra\\r"; lines end in LF or CRLF, not in CR alone',
    );
  });
});

describe("a .csv", () => {
  it("is RFC 4180, with the line where each row begins", () => {
    expect(read('text,label\n"a, ""b""\r\n\nc",pos\n\n plain ,neg\n', "csv")).toEqual([
      [2, { text: 'a, "b"\n\nc', label: "pos" }],
      [6, { text: " plain ", label: "neg" }],
    ]);
    expect(read("text,label\na\rb,pos\n\nc,neg", "csv")).toEqual([
      [2, { text: "a\rb", label: "pos" }],
      [4, { text: "c", label: "neg" }],
    ]);
  });

  it("refuses quotes that do not fit", () => {
    const cure = "; put a field that holds quotes between quotes, and write each quote inside it twice";
    expect(refusal('text,label\na,b\n\n"c,d\ne,f\n', "csv")).toBe(`data.csv, line 4: a quote opens in this row and never closes${cure}`);
    expect(refusal('text,label\n"a"b,c\n', "csv")).toBe(`data.csv, line 2: a quote in this row closes in the middle of a field${cure}`);
    expect(refusal('text,label\na"b",c\n', "csv")).toBe(`data.csv, line 2: a quote in this row opens in the middle of a field${cure}`);
  });

  it("refuses rows with too few or too many fields", () => {
    expect(refusal("text,label\na,b\n\nc\n", "csv")).toBe(
      'data.csv, line 4: found 1 field, wanted 2 ("text", "label"); put a comma between them',
    );
    expect(refusal('text,label\n"a\nb",c\nd,e,f\n', "csv")).toBe(
      'data.csv, line 4: found 3 fields, wanted 2 ("text", "label"); put a field that holds a comma between quotes',
    );
    expect(refusal("text\tlabel\na\tb\n", "csv")).toBe('data.csv, line 1: the header has no comma, only "text\\tlabel"; is this a .tsv?');
  });
});

describe("a .jsonl", () => {
  it("has one object a line", () => {
    expect(read('\n{"text": "a", "n": 1}\r\n\n{"text": [null]}\n', "jsonl")).toEqual([
      [2, { text: "a", n: 1 }],
      [4, { text: [null] }],
    ]);
  });

  it("refuses what is not JSON, or no object", () => {
    const wanted = 'every line should be one JSON object, such as {"text": "…", "label": "…"}';
    expect(refusal('{"text": "a"}\n{"text": \n', "jsonl")).toBe(`data.jsonl, line 2: not valid JSON ("{\\"text\\": "); ${wanted}`);
    expect(refusal('[{"text": "a"}]', "jsonl")).toBe(`data.jsonl, line 1: found a list; ${wanted}`);
    expect(refusal("null", "jsonl")).toBe(`data.jsonl, line 1: found null; ${wanted}`);
    expect(refusal(`${"[".repeat(200_000)}`, "jsonl")).toContain("not valid JSON");
  });
});

describe("every table", () => {
  it.each(["tsv", "csv", "jsonl"] as const)("is more than nothing: .%s", (format) => {
    for (const nothing of ["", "\n\n", "\uFEFF", " \r\n"]) {
      expect(refusal(nothing, format)).toBe(`data.${format}: the file is empty; it should hold examples, one a line`);
    }
  });

  it("is more than a header", () => {
    expect(refusal("text\tlabel\n\n", "tsv")).toBe(
      'data.tsv: a header line ("text", "label") with no example under it; add examples, one a line',
    );
    expect(refusal("text,label\n", "csv")).toBe(
      'data.csv: a header line ("text", "label") with no example under it; add examples, one a line',
    );
  });

  it("has no two columns of one name", () => {
    expect(refusal("\ntext\ttext\na\tb\n", "tsv")).toBe('data.tsv, line 2: two columns are called "text"; rename one of them');
  });

  it("has no NUL character", () => {
    expect(refusal("text\tlabel\na\tb\nc\0\td\n", "tsv")).toBe(
      "data.tsv, line 3: a NUL character, which no text has; remove it (or, if this is UTF-16, save it as UTF-8)",
    );
  });

  it("has at most five million rows", () => {
    expect(() => refuseTooMany(5_000_000, "a.tsv")).not.toThrow();
    expect(() => refuseTooMany(5_000_001, "a.tsv")).toThrow("a.tsv: more than 5 million examples; train on a part of them");
  });

  it("may have a column __proto__", () => {
    const [row] = parseRows('{"__proto__": 1, "constructor": 2}', "jsonl", "a").rows;
    expect([...row.fields]).toEqual([
      ["__proto__", 1],
      ["constructor", 2],
    ]);
    const [line] = parseRows("__proto__,constructor\n1,2", "csv", "a").rows;
    expect(line.fields.get("__proto__")).toBe("1");
  });

  it("may have very long lines, which errors do not repeat, nor what a terminal would obey", () => {
    const long = "x".repeat(3_000_000);
    expect(read(`text\tlabel\n${long}\tpos\n`, "tsv")[0][1].text).toBe(long);
    expect(read(`text,label\n"${long}",pos\n`, "csv")[0][1].text).toBe(long);
    expect(refusal(`${long}\t${long}\na\n`, "tsv").length).toBeLessThan(300);
    expect(refusal(`{${long}`, "jsonl").length).toBeLessThan(300);
    expect(refusal(`a\u009b31m\u202e\u2028,b`, "tsv")).toContain('"a\\u{9b}31m\\u{202e}\\u{2028},b"');
  });
});
