import fc from "fast-check";
import { expect, it } from "vitest";
import { type StreamedRow, streamRows } from "../../src/text/row-stream.ts";
import { type Cell, refuseUnwritable, rowWriter } from "../../src/text/row-writer.ts";
import type { TableFormat } from "../../src/text/rows.ts";

// What is written is read again as it was.

const header = { columns: ["a", "b"], line: 1 };
const row = (values: readonly unknown[], content?: string): StreamedRow => ({
  line: 2,
  header,
  fields: new Map(header.columns.map((name, i) => [name, values[i]])),
  ...(content !== undefined && { content }),
});

async function again(format: TableFormat, values: readonly unknown[], cells: readonly Cell[]): Promise<unknown[]> {
  const writer = rowWriter(format, header.columns, ["label", "share"]);
  async function* text() {
    yield writer.header + writer.row(row(values), cells);
  }
  for await (const { fields } of streamRows(text(), format, "again", { single: true })) return [...fields.values()];
  return [];
}

const text = fc.string({ unit: fc.constantFrom('"', ",", "\n", "\r", "\t", "a", "é", "🐳", " ", "\\"), maxLength: 9 });
const unix = (value: string): string => value.replaceAll("\r\n", "\n");

it("a .csv, whatever stands in its fields", async () => {
  await fc.assert(
    fc.asyncProperty(text, text, text, async (a, b, label) => {
      expect(await again("csv", [a, b], [label, 0.25])).toEqual([unix(a), unix(b), unix(label), "0.25"]);
    }),
  );
});

it("a .jsonl, with the types that it had", async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.jsonValue(), text, async (a, b, label) => {
      const stays = JSON.parse(JSON.stringify([a, b])); // -0 is 0 in JSON
      expect(await again("jsonl", [a, b], [label, null])).toEqual([...stays, label, null]);
    }),
  );
});

it("a .tsv, which spells out what it cannot hold in answers and refuses it in rows", async () => {
  expect(await again("tsv", ["x", 7], ["a\tb\nc\\n\r", null])).toEqual(["x", "7", "a\\tb\\nc\\\\n\\r", ""]);
  expect(() => refuseUnwritable(row(["x", "a\tb"]), "in.csv")).toThrow(
    'in.csv, line 2: the column "b" holds a tab, which .tsv has no way to write; write a .csv or a .jsonl',
  );
  expect(() => refuseUnwritable(row(["x", "\n"]), "in.csv")).toThrow('the column "b" holds a line end');
});

it("an object that is empty, and one with spaces around", () => {
  const { row: line } = rowWriter("jsonl", [], ["label"]);
  expect([line(row([], " { } "), ["x"]), line(row([], '{"a": 1 } '), [["D", "N"]])]).toEqual([
    '{"label":"x"}\n',
    '{"a": 1,"label":["D","N"]}\n',
  ]);
});
