import { resolve } from "node:path";
import * as z from "zod";
import { between } from "../models/bounds.ts";
import type { Columns } from "../text/examples.ts";
import type { GivenRows } from "../text/given.ts";
import { splitRules } from "../text/split.ts";

// Where data comes from, as config.json remembers it.

const columnsSchema = z.strictObject({
  text: z.string().optional(),
  label: z.string().optional(),
  labels: z.string().optional(),
  source: z.string().optional(),
  target: z.string().optional(),
  tags: z.string().optional(),
  prompt: z.string().optional(),
  completion: z.string().optional(),
  messages: z.string().optional(),
});

export const sourceSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("files"),
    files: z.array(z.string()).min(1),
    valid: z.string().optional(),
    validFraction: between(0, 1, "below"),
    columns: columnsSchema.optional(),
    /** How examples are held out; `hash` if nothing is said, as in runs of before 0.2. */
    split: z.enum(splitRules).optional(),
  }),
  /** Rows that a program held in memory, and validation rows or a share of them. They are given again to go on. */
  z.strictObject({
    kind: z.literal("memory"),
    valid: z.boolean(),
    validFraction: between(0, 1, "below"),
    split: z.enum(splitRules).optional(),
  }),
  z.strictObject({ kind: z.literal("recipe"), name: z.string(), full: z.boolean() }),
  /** A model from outside: what it was trained on is not known here. */
  z.strictObject({ kind: z.literal("hub"), from: z.string() }),
]);

export type DataSource = z.output<typeof sourceSchema>;
export type FileSource = Extract<DataSource, { kind: "files" }>;
export type MemorySource = Extract<DataSource, { kind: "memory" }>;

/** What a source of rows in memory does not remember: the rows. */
export interface Rows {
  readonly data: GivenRows;
  readonly valid?: GivenRows;
}

export const memorySource = ({ valid }: Rows, { validFraction = 0.1 }: Pick<FileOptions, "validFraction">): MemorySource => ({
  kind: "memory",
  valid: valid !== undefined,
  validFraction: valid === undefined ? validFraction : 0,
});

/** What data is called in a sentence. */
export function sourceName(source: DataSource): string {
  switch (source.kind) {
    case "files":
      return [...source.files, ...(source.valid === undefined ? [] : [source.valid])].join(", ");
    case "memory":
      return "rows in memory";
    case "recipe":
      return `the recipe ${source.name}`;
    case "hub":
      return `what ${source.from} was trained on`;
  }
}

export interface FileOptions {
  readonly valid?: string;
  readonly validFraction?: number;
  readonly columns?: Columns;
}

/** Files as a source of data; their places are kept in full, so that a run can go on from another folder. */
export const filesSource = (files: readonly string[], { valid, validFraction = 0.1, columns = {} }: FileOptions): FileSource => ({
  kind: "files",
  files: files.map((file) => resolve(file)),
  ...(valid !== undefined && { valid: resolve(valid) }),
  validFraction,
  ...(Object.keys(columns).length > 0 && { columns }),
});
