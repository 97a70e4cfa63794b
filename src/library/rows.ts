import { ConfigError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { type DataSource, type FileOptions, filesSource, memorySource, type Rows } from "../data/source.ts";
import type { GivenRows } from "../text/given.ts";

// Data as a program gives it: paths of files, or rows that it has in memory.

/** The path of a file, or several; or rows, there or still coming. A list of strings is always one of paths: texts in memory are `{ text }`. */
export type Data = string | readonly string[] | GivenRows;

export interface DataSettings extends Omit<FileOptions, "valid"> {
  /** A file, or for rows in memory other rows. */
  readonly valid?: string | GivenRows;
}

export const isFiles = (data: Data): data is string | readonly string[] =>
  typeof data === "string" || (Array.isArray(data) && data.every((one) => typeof one === "string"));

export const fileList = (files: string | readonly string[]): readonly string[] => (typeof files === "string" ? [files] : files);

/** What config.json remembers of data, and the rows that it does not. */
export function sourceOf(data: Data, { valid, validFraction, columns }: DataSettings): { source: DataSource; rows?: Rows } {
  if (isFiles(data)) {
    if (valid !== undefined && typeof valid !== "string")
      throw conflict("valid", "the data is in files, so the validation data is one too");
    return { source: filesSource(fileList(data), { valid, validFraction, columns }) };
  }
  if (typeof valid === "string") throw conflict("valid", "the data is rows in memory, so the validation data is rows too");
  if (columns !== undefined) throw conflict("columns", "names of columns are for files; rows in memory have the usual names");
  const rows = { data, valid };
  return { source: memorySource(rows, { validFraction }), rows };
}

const conflict = (path: string, what: string): ConfigError =>
  new ConfigError(sentence`${what}; change ${setting(path)}`, { code: "config.conflict", path });
