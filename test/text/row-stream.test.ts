import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { QkvError } from "../../src/base/errors.ts";
import { longestRow, streamRows } from "../../src/text/row-stream.ts";
import { parseRows, type TableFormat } from "../../src/text/rows.ts";
import { mutateText } from "../support/mutate-text.ts";

// A table that is read as it comes is the table that is read at once, wherever its text is cut.

const formats = ["csv", "tsv", "jsonl"] as const;
const seeds: Readonly<Record<TableFormat, string>> = {
  csv: '\uFEFFtext,label\r\n"a, ""b""\r\nc",pos\n\n  \nfine,neg\r\n"",\n"so\n\nso",pos\n',
  tsv: 'text\ttags\n\nthe "cat" sat\tD N V\r\n\nit slept\tP V\n',
  jsonl: '{"source": "one", "target": "eins"}\r\n\n{"source": "tw\\u00f6", "target": 2}\n{"source": "x", "tags": ["A"], "target": true}',
};

type Found = { rows: [number, [string, unknown][]][]; error?: QkvError };

/** What was read before the first error, and the error. */
async function streamed(text: string, format: TableFormat, cuts: readonly number[] = []): Promise<Found> {
  async function* pieces() {
    const places = [0, ...[...cuts].map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
    for (let i = 1; i < places.length; i++) yield text.slice(places[i - 1], places[i]);
  }
  const rows: Found["rows"] = [];
  try {
    for await (const { line, fields } of streamRows(pieces(), format, "data", { single: true })) rows.push([line, [...fields]]);
    return { rows };
  } catch (error) {
    if (!(error instanceof QkvError)) throw error;
    return { rows, error };
  }
}

function whole(text: string, format: TableFormat): Found {
  try {
    return { rows: [...parseRows(text, format, "data").rows].map(({ line, fields }) => [line, [...fields]]) };
  } catch (error) {
    if (!(error instanceof QkvError)) throw error;
    return { rows: [], error };
  }
}

const mutants = Number(process.env.QKV_FUZZ ?? 150);

describe.each(formats)("a .%s", (format) => {
  it("is the same in any pieces, also when it is damaged", { timeout: 600_000 }, async () => {
    let refused = 0;
    for (let i = 0; i < mutants; i++) {
      const from = chance(3).fork(format).fork(i);
      const text = i === 0 ? seeds[format] : mutateText(seeds[format], from);
      const cuts = Array.from({ length: i % 7 }, (_, cut) => from.fork("cuts").integer(cut, 1000));
      const [pieces, piece, all] = [await streamed(text, format, cuts), await streamed(text, format), whole(text, format)];
      if (piece.error) refused++;
      if (/^data, line \d+: the header has no (comma|tab)/.test(all.error?.message ?? "")) continue; // one column is enough to be answered
      for (const { rows, error } of [pieces, piece]) {
        expect(error === undefined, `${all.error} / ${error}: ${JSON.stringify(text)}`).toBe(all.error === undefined);
        if (!all.error) expect(rows).toEqual(all.rows);
        else if (!/NUL|two columns/.test(`${error} ${all.error}`)) expect(error?.message).toBe(all.error.message); // these are said at other moments
      }
    }
    expect(refused).toBeGreaterThan(mutants / 10);
    expect(refused).toBeLessThan(mutants);
  });
});

it("any fields, quoted, come back from a .csv in any pieces", async () => {
  const field = fc.string({ unit: fc.constantFrom('"', ",", "\n", "\r", "a", "é", "🐳", " ", "\t"), maxLength: 8 });
  const rows = fc.array(fc.tuple(field, field, fc.constant("x")), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(rows, fc.array(fc.nat()), async (table, cuts) => {
      const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
      const text = [["a", "b", "c"], ...table].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
      const unix = (value: string) => value.replaceAll("\r\n", "\n");
      expect((await streamed(text, "csv", cuts)).rows.map(([, fields]) => fields.map(([, value]) => value))).toEqual(
        table.map((row) => row.map(unix)),
      );
    }),
  );
});

describe("what a stream takes and a whole table does not", () => {
  it("is one column alone", async () => {
    expect(await streamed("text\nhello\n\nyou\n", "csv")).toEqual({
      rows: [
        [2, [["text", "hello"]]],
        [4, [["text", "you"]]],
      ],
    });
    expect((await streamed("text\nhello\n", "tsv")).rows).toEqual([[2, [["text", "hello"]]]]);
    expect((await streamed("text\tlabel\nhello\tyou\n", "csv")).error?.message).toMatch(/the header has no comma.*is this a \.tsv\?/);
    expect((await streamed("text;label\nhello;you\n", "csv")).error?.message).toMatch(/the header has no comma/);
    expect((await streamed("text,label\nhello,you\n", "tsv")).error?.message).toMatch(/the header has no tab.*is this a \.csv\?/);
  });
});

it("rows come before the fault that ends the stream, which is said with its line", async () => {
  const { rows, error } = await streamed('a,b\n1,2\n"3\n3",4\n5\n6,7\n', "csv", [8, 16]);
  expect(rows.map(([line]) => line)).toEqual([2, 3]);
  expect(error?.message).toBe('data, line 5: found 1 field, wanted 2 ("a", "b"); put a comma between them');
});

it("a quote that never closes ends the stream before the memory does", async () => {
  async function* endless() {
    yield 'a,b\n1,2\n"';
    for (;;) yield "words and words\n".repeat(10_000);
  }
  const rows = streamRows(endless(), "csv", "data.csv");
  expect((await rows.next()).value.line).toBe(2);
  await expect(rows.next()).rejects.toThrow(
    `data.csv, line 3: a row of more than ${Math.round(longestRow / 1e6)} million characters begins here; does a quote open in it that never closes?`,
  );
});
