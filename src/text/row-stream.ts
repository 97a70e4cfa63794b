import { DataError } from "../base/errors.ts";
import { csvRecords, noHeader } from "./csv.ts";
import { rows as jsonRows } from "./jsonl.ts";
import { emptyFile, headerAlone, refuseNul, refuseTwins, type TableFormat } from "./rows.ts";
import { type HeaderOptions, lines, named, newlines, type Row } from "./table.ts";
import { columnsIn, rows as tsvRows } from "./tsv.ts";

// The rows of a table as they come, in the memory of the longest of them. What `parseRows` reads of the whole is read here piece by piece,
// by the same parsers; what is wrong is said when it is met, so rows of earlier pieces have been given.

export interface StreamedRow extends Row {
  /** Where the columns are named: the header line, or the first row of .jsonl. */
  readonly header: Header;
  /** The line itself, of .jsonl. */
  readonly content?: string;
}

interface Header {
  readonly columns: readonly string[];
  readonly line: number;
}

/** Whole rows, and the line of the file that they begin with. */
interface Stretch {
  readonly text: string;
  readonly first: number;
}

/** Reads the rows of one stretch after the other, and knows the header once it has met it. */
interface Reader {
  header?: Header;
  read(stretch: Stretch): Iterable<Row>;
}

/** Texts come in any pieces. A table of one column is one too, where that is said. */
export async function* streamRows(
  chunks: AsyncIterable<string>,
  format: TableFormat,
  file: string,
  options: HeaderOptions = {},
): AsyncGenerator<StreamedRow> {
  const reader = readers[format](file, options);
  let [any, blank] = [false, true];
  for await (const stretch of stretches(chunks, format === "csv", file)) {
    refuseNul(stretch.text, file, stretch.first);
    blank &&= stretch.text.trim() === "";
    for (const row of reader.read(stretch)) {
      any = true;
      yield Object.assign(row, { header: reader.header as Header }); // there is no row before the header
    }
  }
  if (any) return;
  if (blank) throw emptyFile(file);
  throw reader.header ? headerAlone(reader.header.columns, file) : noHeader(file);
}

const readers: Readonly<Record<TableFormat, (file: string, options: HeaderOptions) => Reader>> = {
  csv(file, options) {
    const records = csvRecords(file, options);
    return {
      *read({ text, first }) {
        for (const { line, values } of records(text, first)) {
          if (this.header) yield { line, fields: named(this.header.columns, values) };
          else this.header = checked({ columns: values, line }, file);
        }
      },
    };
  },
  tsv: (file, options) => ({
    *read({ text, first }) {
      let from = first;
      if (!this.header) {
        const found = lines(text, first).next().value;
        if (!found) return;
        this.header = checked({ columns: columnsIn(found.content, file, found.line, options), line: found.line }, file);
        from = found.line + 1;
      }
      yield* tsvRows(text, this.header.columns, file, from, first);
    },
  }),
  jsonl: (file) => ({
    *read({ text, first }) {
      for (const row of jsonRows(text, file, first)) {
        this.header ??= { columns: [...row.fields.keys()], line: row.line };
        yield row;
      }
    },
  }),
};

function checked(header: Header, file: string): Header {
  refuseTwins({ columns: header.columns, headerLine: header.line }, file);
  return header;
}

/** A row is held in memory; one that is longer than this is most likely a quote that never closes. */
export const longestRow = 2 ** 24;

/** Cuts where rows end: at line ends, but not at those between quotes. */
async function* stretches(chunks: AsyncIterable<string>, quotes: boolean, file: string): AsyncGenerator<Stretch> {
  let [first, held, between] = [1, 0, false];
  let rest: string[] = [];
  for await (const chunk of unixLines(chunks)) {
    const end = lastEnd(chunk, quotes, between);
    between = end.between;
    if (end.at < 0) {
      rest.push(chunk);
      held += chunk.length;
      if (held > longestRow) throw tooLong(file, first, between);
      continue;
    }
    const text = rest.join("") + chunk.slice(0, end.at + 1);
    yield { text, first };
    first += newlines(text);
    rest = [chunk.slice(end.at + 1)];
    held = rest[0].length;
  }
  const text = rest.join("");
  if (text !== "") yield { text, first };
}

function tooLong(file: string, line: number, between: boolean): DataError {
  const cure = between ? "does a quote open in it that never closes?" : "divide it";
  return new DataError(`a row of more than ${Math.round(longestRow / 1e6)} million characters begins here; ${cure}`, { file, line });
}

/** The last line end outside quotes, or -1, and whether the chunk ends between quotes. A doubled quote opens and closes in one place. */
function lastEnd(chunk: string, quotes: boolean, within: boolean): { readonly at: number; readonly between: boolean } {
  if (!quotes) return { at: chunk.lastIndexOf("\n"), between: false };
  let [at, between] = [-1, within];
  for (let i = 0; i < chunk.length; i++) {
    const code = chunk.charCodeAt(i);
    if (code === 0x22) between = !between;
    else if (code === 0x0a && !between) at = i;
  }
  return { at, between };
}

/** Without a byte order mark, and with LF for CRLF, also where a chunk ends between the two. */
async function* unixLines(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let [begun, rest] = [false, ""];
  for await (const chunk of chunks) {
    const text = rest + (begun || !chunk.startsWith("\uFEFF") ? chunk : chunk.slice(1));
    begun ||= chunk !== "";
    const whole = text.endsWith("\r") ? text.slice(0, -1) : text;
    rest = text.slice(whole.length);
    if (whole !== "") yield whole.replaceAll("\r\n", "\n");
  }
  if (rest !== "") yield rest;
}
