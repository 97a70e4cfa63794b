import { DataError } from "../base/errors.ts";
import { quoted } from "./quote.ts";
import type { StreamedRow } from "./row-stream.ts";
import type { TableFormat } from "./rows.ts";

// A table with columns added to it, row by row: what was there stays as it was, in its order.

/** What an added column can hold; nothing is an empty cell, or null. */
export type Cell = string | number | null | readonly string[] | Readonly<Record<string, number>>;

export interface RowWriter {
  /** What comes before the rows. */
  readonly header: string;
  row(row: StreamedRow, added: readonly Cell[]): string;
}

/** Columns that a row does not have are empty in .csv and .tsv. */
export function rowWriter(format: TableFormat, columns: readonly string[], added: readonly string[]): RowWriter {
  if (format === "jsonl") return { header: "", row: ({ fields, content }, cells) => jsonLine(content ?? jsonText(fields), added, cells) };
  const line = (cells: readonly string[]): string => `${cells.join(format === "csv" ? "," : "\t")}\n`;
  const [old, made] = format === "csv" ? [csvField, csvField] : [(text: string) => text, tsvField];
  return {
    header: line([...columns.map(old), ...added.map(made)]),
    row: ({ fields }, cells) =>
      line([...columns.map((name) => old(cellText(fields.get(name)))), ...cells.map((cell) => made(cellText(cell)))]),
  };
}

/** Refuses what a row of .tsv cannot hold, since nothing is quoted there. */
export function refuseUnwritable({ fields, line }: StreamedRow, file: string): void {
  for (const [name, value] of fields) {
    const text = cellText(value);
    const found = text.includes("\t") ? "a tab" : text.includes("\n") ? "a line end" : undefined;
    if (found)
      throw new DataError(`the column ${quoted(name)} holds ${found}, which .tsv has no way to write; write a .csv or a .jsonl`, {
        file,
        line,
      });
  }
}

/** What was read stays character by character: numbers of any length, and the order of names. */
function jsonLine(object: string, names: readonly string[], cells: readonly Cell[]): string {
  const open = object.trim().slice(0, -1).trimEnd();
  const added = names.map((name, i) => `${JSON.stringify(name)}:${JSON.stringify(cells[i])}`).join(",");
  return `${open}${open === "{" ? "" : ","}${added}}\n`;
}

const jsonText = (fields: ReadonlyMap<string, unknown>): string =>
  `{${[...fields].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`;

function cellText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** RFC 4180: between quotes where it has to be. */
const csvField = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** What a model wrote is not refused when hours have gone into it. */
const tsvField = (text: string): string => text.replace(/[\\\t\n\r]/g, (character) => escapes[character]);
