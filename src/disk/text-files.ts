import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, extname } from "node:path";
import { DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { Turns } from "../base/turns.ts";
import { type Columns, columnNames, missingColumn, tasks } from "../text/columns.ts";
import { type Example, type ExampleOptions, ExampleReader, type Examples, together } from "../text/examples.ts";
import { scalar } from "../text/fields.ts";
import { listed } from "../text/quote.ts";
import { streamRows } from "../text/row-stream.ts";
import { emptyFile, type TableFormat } from "../text/rows.ts";
import { refuseTooMany } from "../text/table.ts";
import { textChunks } from "../text/utf8.ts";
import { systemCode } from "./files.ts";

/** Of a tokenizer from elsewhere, more would hold the thread for long. */
const chunkBytes = 2 ** 18;
/** Examples are held in memory, and the longest string of the engine has about 530 million characters. */
const mostBytes = 400e6;

/** What a file holds, by its ending: plain text to model, or a table of examples. */
export function formatOf(file: string): TableFormat | "txt" {
  const ending = extname(file).slice(1).toLowerCase();
  if (ending === "txt" || ending === "tsv" || ending === "csv" || ending === "jsonl") return ending;
  const found = ending === "" ? "no ending" : `the ending .${ending}`;
  throw new DataError(`${found}; data is .txt (plain text), .tsv, .csv or .jsonl (examples), so rename the file or convert it`, {
    code: "data.file",
    file,
  });
}

/** The examples of all the files, one file after the other; all are of the task that is given, or else of that of the first file. */
export async function readExamples(files: readonly string[], options: ExampleOptions = {}): Promise<Examples> {
  let bytes = 0;
  for (const file of files) {
    tableFormat(file, options);
    bytes += await sizeOf(file);
    refuseAbove(bytes, file);
  }
  const [first, ...others] = files;
  if (first === undefined) throw new DataError("no data file was given; name a .tsv, .csv or .jsonl");
  const { task, examples } = await readTable(first, options);
  const all: Example[] = examples;
  const labelling = task === "classify" && all[0] && ("labels" in all[0] ? "several" : "one");
  for (const file of others) {
    for (const example of (await readTable(file, { ...options, task, ...(labelling && { labelling }) })).examples) all.push(example);
    refuseTooMany(all.length, file);
  }
  return together(task, all);
}

/** The texts of tables, one for each row; other columns are not read. */
export async function readTextColumn(files: readonly string[], columns?: Columns): Promise<string[]> {
  const { text: column } = columnNames(columns);
  const turns = new Turns();
  const texts: string[] = [];
  let bytes = 0;
  for (const file of files) {
    bytes += await sizeOf(file);
    refuseAbove(bytes, file);
    const before = texts.length;
    for await (const { header, line, fields } of streamRows(textChunks(boundedBytes(file), file), tableFormat(file), file)) {
      if (!header.columns.includes(column)) throw missingColumn("text", column, { ...header, file });
      if (!fields.has(column)) throw missingColumn("text", column, { columns: [...fields.keys()], file, line });
      texts.push(scalar(fields.get(column), { role: "text", column, file, line }));
      refuseTooMany(texts.length, file);
      if (turns.over) await turns.rest();
    }
    if (texts.length === before) throw emptyFile(file);
  }
  return texts;
}

async function readTable(file: string, options: ExampleOptions): Promise<Examples> {
  const turns = new Turns();
  let reader: ExampleReader | undefined;
  for await (const row of streamRows(textChunks(boundedBytes(file), file), tableFormat(file, options), file)) {
    reader ??= new ExampleReader(file, row.header, options);
    reader.add(row);
    if (turns.over) await turns.rest();
  }
  if (!reader) throw emptyFile(file);
  return reader.examples;
}

function tableFormat(file: string, { task }: ExampleOptions = {}): TableFormat {
  const format = formatOf(file);
  if (format !== "txt") return format;
  const wanted = task === undefined ? "examples are" : `${task} wants the columns ${listed(tasks[task])} of`;
  throw new DataError(sentence`a .txt is plain text, for ${setting("task", "lm")}; ${wanted} a .tsv, .csv or .jsonl`, {
    code: "data.task",
    file,
  });
}

async function* boundedBytes(file: string): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of readBytes(file)) {
    bytes += chunk.length;
    refuseAbove(bytes, file); // a pipe, or a file that grows, is longer than it said
    yield chunk;
  }
}

function refuseAbove(bytes: number, file: string): void {
  if (bytes <= mostBytes) return;
  throw new DataError(`more than ${mostBytes / 1e6} MB of examples in all, which are held in memory; train on a part of them`, {
    code: "data.too-much",
    file,
  });
}

export async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (cause) {
    throw await unreadable(file, cause);
  }
}

/** The bytes of a file, or of a stretch of it (both ends belong to it), a quarter of a megabyte at a time. */
export async function* readBytes(file: string, range: { readonly start?: number; readonly end?: number } = {}): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file, { highWaterMark: chunkBytes, ...range });
  } catch (cause) {
    throw await unreadable(file, cause);
  }
}

/** The text of a file as it is, line ends too, in pieces that never cut a character. */
export const readTextChunks = (file: string): AsyncGenerator<string> => textChunks(readBytes(file), file);

/** The text of a file, or nothing if there is no such file. */
export async function readIfThere(file: string): Promise<string | undefined> {
  const chunks: string[] = [];
  try {
    for await (const chunk of readTextChunks(file)) chunks.push(chunk);
    return chunks.join("");
  } catch (error) {
    if (error instanceof DataError && systemCode(error.cause) === "ENOENT") return undefined;
    throw error;
  }
}

/** SHA-256 of what the files hold, in their order, whatever they are called. */
export async function hashFiles(files: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) {
    let bytes = 0;
    for await (const chunk of readBytes(file)) {
      hash.update(chunk);
      bytes += chunk.length;
    }
    hash.update(new BigUint64Array([BigInt(bytes)])); // the length keeps "a", "bc" apart from "ab", "c"
  }
  return hash.digest("hex");
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["EISDIR", "this is a folder; name a file in it"],
  ["ENOTDIR", "a part of this path is a file, not a folder"],
  ["EACCES", "not allowed to read this file; change its permissions (chmod +r)"],
  ["EPERM", "not allowed to read this file; change its permissions"],
  ["EMFILE", "too many files are open; close some programs"],
  ["ENAMETOOLONG", "the name is too long for a file"],
  ["ELOOP", "the links of this path lead in a circle"],
  ["EIO", "the disk could not read this file"],
]);

/** Why a file cannot be read, in words; for one that does not exist, the nearest name in its folder. */
export async function unreadable(file: string, cause: unknown): Promise<DataError> {
  const system = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const reason = reasons.get(system) ?? `the file cannot be read (${cause instanceof Error ? cause.message : String(cause)})`;
  return new DataError(system === "ENOENT" ? `no such file${await nearby(file)}` : reason, { code: "data.file", file, cause });
}

async function nearby(file: string): Promise<string> {
  const wanted = basename(file);
  try {
    const names = await readdir(dirname(file));
    return suggest(wanted, names.filter((name) => Math.abs(name.length - wanted.length) < 8).slice(0, 1000));
  } catch {
    return `; the folder ${dirname(file)} cannot be read either`;
  }
}
