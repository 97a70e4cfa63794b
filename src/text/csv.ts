import { CsvError, parse } from "#csv-parse"; // in a browser, the build that needs nothing of Node
import { DataError } from "../base/errors.ts";
import { listed, quoted } from "./quote.ts";
import { type HeaderOptions, named, newlines, refuseTooMany, type Table } from "./table.ts";

const cures: ReadonlyMap<string, string> = new Map([
  ["CSV_QUOTE_NOT_CLOSED", "a quote opens in this row and never closes"],
  ["CSV_INVALID_CLOSING_QUOTE", "a quote in this row closes in the middle of a field"],
  ["INVALID_OPENING_QUOTE", "a quote in this row opens in the middle of a field"],
]);

interface Line {
  readonly line: number;
  readonly values: readonly string[];
}

export const noHeader = (file: string): DataError => new DataError("no header line; the first line names the columns", { file });

/** RFC 4180: fields between commas under a header line; a field in quotes may hold commas, line ends and doubled quotes. */
export function csvTable(text: string, file: string): Table {
  const [header, ...records] = csvRecords(file)(text);
  if (header === undefined) throw noHeader(file);
  const columns = header.values;
  function* rows() {
    for (const { line, values } of records) yield { line, fields: named(columns, values) };
  }
  return { columns, headerLine: header.line, rows: { [Symbol.iterator]: rows } };
}

/**
 * Reads the records of a file, all at once or piece by piece, where a piece ends with a record; the first of all is the header. A piece
 * begins at a line of the file.
 */
export function csvRecords(file: string, options: HeaderOptions = {}): (text: string, first?: number) => Line[] {
  let columns: readonly string[] | undefined;
  return (text, first = 1) => {
    const records: Line[] = [];
    let before = first - 1; // lines of the records so far; the parser's own count takes a lone CR for a line end
    const keep = (values: readonly string[], { empty_lines }: { empty_lines: number }): null => {
      const line = 1 + before + empty_lines;
      before += 1 + values.reduce((sum, value) => sum + newlines(value), 0);
      if (values.length === 1 && values[0].trim() === "") return null;
      const kept = values.slice(); // the parser's own lists have room for 17 fields
      if (columns === undefined) {
        refuseHeader(kept, file, line, options);
        columns = kept;
      } else if (values.length !== columns.length) throw new DataError(wrongCount(values.length, columns), { file, line });
      records.push({ line, values: kept });
      refuseTooMany(records.length - 1, file);
      return null;
    };
    try {
      parse(text, { record_delimiter: "\n", relax_column_count: true, skip_empty_lines: true, on_record: keep });
    } catch (error) {
      if (error instanceof DataError) throw error;
      const skipped = error instanceof CsvError ? Number(error.empty_lines ?? 0) : 0;
      const what = (error instanceof CsvError && cures.get(error.code)) || `not readable as CSV (${String(error)})`;
      throw new DataError(`${what}; put a field that holds quotes between quotes, and write each quote inside it twice`, {
        file,
        line: 1 + before + skipped,
        cause: error,
      });
    }
    return records;
  };
}

function refuseHeader(columns: readonly string[], file: string, line: number, { single }: HeaderOptions): void {
  if (columns.length > 1 || (single && !/[\t;\r]/.test(columns[0]))) return;
  const tab = columns[0].includes("\t") ? "is this a .tsv?" : "put a comma between the column names";
  const cure = columns[0].includes("\r") ? "lines end in LF or CRLF, not in CR alone" : tab;
  throw new DataError(`the header has no comma, only ${quoted(columns[0])}; ${cure}`, { file, line });
}

function wrongCount(found: number, columns: readonly string[]): string {
  const cure = found < columns.length ? "put a comma between them" : "put a field that holds a comma between quotes";
  return `found ${found} ${found === 1 ? "field" : "fields"}, wanted ${columns.length} (${listed(columns)}); ${cure}`;
}
