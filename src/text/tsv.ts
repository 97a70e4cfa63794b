import { DataError } from "../base/errors.ts";
import { listed, quoted } from "./quote.ts";
import { type HeaderOptions, lines, named, type Row, type Table } from "./table.ts";

/** Fields between tabs under a header line. Nothing is quoted: a quote is a character. */
export function tsvTable(text: string, file: string): Table {
  for (const { line, content } of lines(text)) {
    const columns = columnsIn(content, file, line);
    return { columns, headerLine: line, rows: { [Symbol.iterator]: () => rows(text, columns, file, line + 1) } };
  }
  return { columns: [], headerLine: 1, rows: [] };
}

/** The names in a header line. */
export function columnsIn(content: string, file: string, line: number, { single }: HeaderOptions = {}): readonly string[] {
  const columns = content.split("\t");
  if (columns.length > 1 || (single && !/[,;\r]/.test(content))) return columns;
  throw new DataError(oneColumn(content), { file, line });
}

/** The rows of a stretch that begins with line `first`, from line `from` on. */
export function* rows(text: string, columns: readonly string[], file: string, from: number, first = 1): Generator<Row> {
  for (const { line, content } of lines(text, first)) {
    if (line < from) continue;
    const values = content.split("\t");
    if (values.length !== columns.length) throw new DataError(wrongCount(values.length, columns), { file, line });
    yield { line, fields: named(columns, values) };
  }
}

function oneColumn(header: string): string {
  const cure = header.includes(",") ? "is this a .csv?" : "put a tab between the column names";
  const ends = header.includes("\r") ? "lines end in LF or CRLF, not in CR alone" : cure;
  return `the header has no tab, only ${quoted(header)}; ${ends}`;
}

function wrongCount(found: number, columns: readonly string[]): string {
  const cure = found < columns.length ? "put a tab between them" : "a field cannot hold a tab, as .tsv has no quoting";
  return `found ${found} ${found === 1 ? "field" : "fields"}, wanted ${columns.length} (${listed(columns)}); ${cure}`;
}
