import { type ExampleOptions, ExampleReader, type Examples } from "./examples.ts";
import { parseRows, type TableFormat } from "./rows.ts";

/** The examples of a table, checked: every one has its input and its answer. */
export function parseExamples(text: string, format: TableFormat, file: string, options: ExampleOptions = {}): Examples {
  const { columns, headerLine, rows } = parseRows(text, format, file);
  const reader = new ExampleReader(file, { columns, line: headerLine }, options);
  for (const row of rows) reader.add(row);
  return reader.examples;
}
