import { createHash } from "node:crypto";
import { DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { readTextChunks } from "../disk/text-files.ts";
import { textOrNothing } from "../text/fields.ts";
import { listed, quoted } from "../text/quote.ts";
import { type StreamedRow, streamRows } from "../text/row-stream.ts";
import { refuseUnwritable } from "../text/row-writer.ts";
import type { TableFormat } from "../text/rows.ts";

// A file of rows before anything is computed of it: every row is read and checked.

export interface Survey {
  readonly rows: number;
  /** All columns, in the order in which they are met. */
  readonly columns: readonly string[];
  /** The one that holds the text. */
  readonly column: string;
  /** The digest of the first rows, as many as were asked for; undefined if there are fewer. */
  readonly read?: string;
}

export interface SurveyOptions {
  /** Names of the column with the text, the likeliest first. */
  readonly names: readonly string[];
  /** What the rows will be written as. */
  readonly output: TableFormat;
  /** How many rows the digest is of. */
  readonly digestOf?: number;
}

export const rowsOf = (file: string, format: TableFormat): AsyncGenerator<StreamedRow> =>
  streamRows(readTextChunks(file), format, file, { single: true });

export async function surveyed(file: string, format: TableFormat, { names, output, digestOf }: SurveyOptions): Promise<Survey> {
  const columns = new Set<string>();
  const hash = rowHash();
  let [rows, column, read]: [number, string | undefined, string | undefined] = [0, undefined, undefined];
  for await (const row of rowsOf(file, format)) {
    if (rows === 0 || format === "jsonl") for (const name of row.fields.keys()) columns.add(name);
    column ??= names.find((name) => row.fields.has(name)) ?? names[0];
    textIn(row, column, file);
    if (output === "tsv" && format !== "tsv") refuseUnwritable(row, file);
    rows++;
    if (digestOf === undefined || rows > digestOf) continue;
    hash.add(row);
    if (rows === digestOf) read = hash.soFar();
  }
  return { rows, columns: [...columns], column: column ?? names[0], read };
}

/** The text of a row; empty, where there is none. */
export function textIn({ fields, line, header }: StreamedRow, column: string, file: string): string {
  if (fields.has(column)) return textOrNothing(fields.get(column), column, { file, line });
  const found = [...fields.keys()];
  const near = suggest(column, found.slice(0, 1000));
  throw new DataError(
    sentence`no column ${quoted(column)} (found ${listed(found)}${near}); name the one with the text by ${setting("column")}`,
    {
      code: "data.columns",
      path: "column",
      file,
      line: header.columns.includes(column) ? line : header.line, // a row of .jsonl may lack what others have
    },
  );
}

/** A digest of rows one after the other. */
export function rowHash(): { add(row: StreamedRow): void; soFar(): string } {
  const hash = createHash("sha256");
  return {
    add: ({ content, fields }) => void hash.update(`${content ?? JSON.stringify([...fields])}\n`),
    soFar: () => hash.copy().digest("hex"),
  };
}

/** Rows of a group are held in memory. */
export const mostCharacters = 2 ** 22;

/** Cut by the rows alone: the same file has the same groups, wherever one begins. */
export async function* groups(rows: AsyncIterable<StreamedRow>, size: number): AsyncGenerator<StreamedRow[]> {
  let [group, characters]: [StreamedRow[], number] = [[], 0];
  for await (const row of rows) {
    group.push(row);
    characters += charactersOf(row);
    if (group.length < size && characters < mostCharacters) continue;
    yield group;
    [group, characters] = [[], 0];
  }
  if (group.length > 0) yield group;
}

function charactersOf({ content, fields }: StreamedRow): number {
  if (content !== undefined) return content.length;
  let sum = 0;
  for (const value of fields.values()) sum += String(value).length;
  return sum;
}
