import { DataError } from "../base/errors.ts";

/** One line of a table: where it begins, counted from 1, and what it holds by column name. */
export interface Row {
  readonly line: number;
  readonly fields: ReadonlyMap<string, unknown>;
}

/** The rows are made while they are read, so that a long table is not held twice; they can be read again. */
export interface Table {
  readonly columns: readonly string[];
  readonly headerLine: number;
  readonly rows: Iterable<Row>;
}

export function named(columns: readonly string[], values: readonly string[]): Map<string, string> {
  return new Map(columns.map((name, i) => [name, values[i]]));
}

/** What a header may be. */
export interface HeaderOptions {
  /** One column alone will do: there is nothing to learn from it, but something to answer. */
  readonly single?: boolean;
}

/** Lines with their numbers, without those that are blank. */
export function* lines(text: string, first = 1): Generator<{ line: number; content: string }> {
  let line = first;
  for (let start = 0; start < text.length; line++) {
    const end = text.indexOf("\n", start);
    const content = text.slice(start, end < 0 ? text.length : end);
    if (content.trim() !== "") yield { line, content };
    start += content.length + 1;
  }
}

export function newlines(text: string, before = text.length): number {
  let count = 0;
  for (let i = text.indexOf("\n"); i >= 0 && i < before; i = text.indexOf("\n", i + 1)) count++;
  return count;
}

/** Examples are held in memory, where each takes some hundred bytes beside its text. */
const mostRows = 5_000_000;

export function refuseTooMany(rows: number, file: string): void {
  if (rows <= mostRows) return;
  throw new DataError(`more than ${mostRows / 1e6} million examples; train on a part of them`, { code: "data.too-much", file });
}
