import { DataError } from "../base/errors.ts";
import { listed, quoted } from "./quote.ts";
import { lines, named, type Row, type Table } from "./table.ts";

/** Fields between tabs under a header line. Nothing is quoted: a quote is a character. */
export function tsvTable(text: string, file: string): Table {
  for (const { line, content } of lines(text)) {
    const columns = content.split("\t");
    if (columns.length === 1) throw new DataError(oneColumn(content), { file, line });
    return { columns, headerLine: line, rows: { [Symbol.iterator]: () => rows(text, columns, file) } };
  }
  return { columns: [], headerLine: 1, rows: [] };
}

function oneColumn(header: string): string {
  const cure = header.includes(",") ? "is this a .csv?" : "put a tab between the column names";
  const ends = header.includes("\r") ? "lines end in LF or CRLF, not in CR alone" : cure;
  return `the header has no tab, only ${quoted(header)}; ${ends}`;
}

function* rows(text: string, columns: readonly string[], file: string): Generator<Row> {
  let header = true;
  for (const { line, content } of lines(text)) {
    if (!header) {
      const values = content.split("\t");
      if (values.length !== columns.length) throw new DataError(wrongCount(values.length, columns), { file, line });
      yield { line, fields: named(columns, values) };
    }
    header = false;
  }
}

function wrongCount(found: number, columns: readonly string[]): string {
  const cure = found < columns.length ? "put a tab between them" : "a field cannot hold a tab, as .tsv has no quoting";
  return `found ${found} ${found === 1 ? "field" : "fields"}, wanted ${columns.length} (${listed(columns)}); ${cure}`;
}
