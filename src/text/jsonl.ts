import { DataError } from "../base/errors.ts";
import { kindOf, quoted } from "./quote.ts";
import { lines, type Row, type Table } from "./table.ts";

const wanted = 'every line should be one JSON object, such as {"text": "…", "label": "…"}';

/** One JSON object a line. The columns are those of the first; the others need not have the same. */
export function jsonTable(text: string, file: string): Table {
  const again = { [Symbol.iterator]: () => rows(text, file) };
  for (const { line, fields } of again) return { columns: [...fields.keys()], headerLine: line, rows: again };
  return { columns: [], headerLine: 1, rows: again };
}

/** The rows of a stretch that begins with line `first`, each with the line itself. */
export function* rows(text: string, file: string, first = 1): Generator<Row & { readonly content: string }> {
  for (const { line, content } of lines(text, first)) {
    const value = parseLine(content, { file, line });
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new DataError(`found ${kindOf(value)}; ${wanted}`, { file, line });
    yield { line, fields: new Map(Object.entries(value)), content };
  }
}

function parseLine(content: string, place: { readonly file: string; readonly line: number }): unknown {
  try {
    return JSON.parse(content);
  } catch (cause) {
    throw new DataError(`not valid JSON (${quoted(content)}); ${wanted}`, { ...place, cause });
  }
}
