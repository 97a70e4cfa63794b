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

function* rows(text: string, file: string): Generator<Row> {
  for (const { line, content } of lines(text)) {
    const value = parsed(content, `${file}, line ${line}`);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new DataError(`${file}, line ${line}: found ${kindOf(value)}; ${wanted}`);
    }
    yield { line, fields: new Map(Object.entries(value)) };
  }
}

function parsed(content: string, where: string): unknown {
  try {
    return JSON.parse(content);
  } catch (cause) {
    throw new DataError(`${where}: not valid JSON (${quoted(content)}); ${wanted}`, { cause });
  }
}
