import { DataError } from "../base/errors.ts";
import { csvTable } from "./csv.ts";
import { jsonTable } from "./jsonl.ts";
import { listed, quoted } from "./quote.ts";
import { newlines, type Table } from "./table.ts";
import { tsvTable } from "./tsv.ts";

export type TableFormat = "tsv" | "csv" | "jsonl";

const readers: Record<TableFormat, (text: string, file: string) => Table> = { tsv: tsvTable, csv: csvTable, jsonl: jsonTable };

/** The rows of a table. Blank lines are skipped; a byte order mark and CRLF are accepted, and count as nothing and as LF. */
export function parseRows(text: string, format: TableFormat, file: string): Table {
  const clean = (text.startsWith("\uFEFF") ? text.slice(1) : text).replaceAll("\r\n", "\n");
  if (clean.trim() === "") throw emptyFile(file);
  refuseNul(clean, file);
  const table = readers[format](clean, file);
  refuseTwins(table, file);
  for (const _ of table.rows) return table;
  throw headerAlone(table.columns, file);
}

export const emptyFile = (file: string): DataError =>
  new DataError("the file is empty; it should hold examples, one a line", { code: "data.too-little", file });

export const headerAlone = (columns: readonly string[], file: string): DataError =>
  new DataError(`a header line (${listed(columns)}) with no example under it; add examples, one a line`, { code: "data.too-little", file });

export function refuseNul(text: string, file: string, first = 1): void {
  const found = text.indexOf("\0");
  if (found < 0) return;
  const line = first + newlines(text, found);
  throw new DataError("a NUL character, which no text has; remove it (or, if this is UTF-16, save it as UTF-8)", { file, line });
}

export function refuseTwins({ columns, headerLine: line }: Pick<Table, "columns" | "headerLine">, file: string): void {
  const seen = new Set<string>();
  for (const name of columns) {
    if (seen.has(name))
      throw new DataError(`two columns are called ${quoted(name)}; rename one of them`, { code: "data.columns", file, line });
    seen.add(name);
  }
}
