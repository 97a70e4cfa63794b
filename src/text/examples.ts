import {
  type ColumnNames,
  type Columns,
  chooseLabelling,
  chooseTask,
  columnNames,
  type ExampleTask,
  type Labelling,
  missingColumn,
  type Role,
  tasks,
} from "./columns.ts";
import { type Field, labelList, scalar, tagList } from "./fields.ts";
import { parseRows, type TableFormat } from "./rows.ts";
import { type Row, refuseTooMany } from "./table.ts";

export type { Columns, ExampleTask, Labelling, Task } from "./columns.ts";

/** Where an example was read, for errors that show up later. One made by hand has none. */
export interface Origin {
  readonly file?: string;
  readonly line?: number;
  /** Of a row in memory: `data[3]`. */
  readonly at?: string;
}

export interface Classified extends Origin {
  readonly text: string;
  readonly label: string;
}

/** A text with any number of labels, which do not exclude each other. */
export interface SeveralLabelled extends Origin {
  readonly text: string;
  readonly labels: readonly string[];
}

export interface Pair extends Origin {
  readonly source: string;
  readonly target: string;
}

export interface Tagged extends Origin {
  readonly text: string;
  readonly tags: readonly string[];
}

interface ExampleOf {
  readonly classify: Classified | SeveralLabelled;
  readonly translate: Pair;
  readonly tag: Tagged;
}

export type Example = ExampleOf[ExampleTask];

/** Examples of one task. */
export type Examples = { [T in ExampleTask]: { readonly task: T; readonly examples: ExampleOf[T][] } }[ExampleTask];

export interface ExampleOptions {
  /** Inferred from the columns when left out. */
  readonly task?: ExampleTask;
  /** Whether a text to classify has one label or several; inferred from the columns when left out. */
  readonly labelling?: Labelling;
  /** The names that the columns have, where they are not the usual ones. */
  readonly columns?: Columns;
}

type Read = <T>(role: Role, as: (value: unknown, field: Field) => T) => T;

type Kind = Exclude<ExampleTask, "classify"> | Labelling;

const readers: Readonly<Record<Kind, (read: Read, file: string, line: number) => Example>> = {
  several: (read, file, line) => ({ text: read("text", scalar), labels: read("labels", labelList), file, line }),
  one: (read, file, line) => ({ text: read("text", scalar), label: read("label", scalar), file, line }),
  translate: (read, file, line) => ({ source: read("source", scalar), target: read("target", scalar), file, line }),
  tag: (read, file, line) => ({ text: read("text", scalar), tags: read("tags", tagList), file, line }),
};

/** The examples of a table, checked: every one has its input and its answer. */
export function parseExamples(text: string, format: TableFormat, file: string, options: ExampleOptions = {}): Examples {
  const { columns, headerLine, rows } = parseRows(text, format, file);
  const reader = new ExampleReader(file, { columns, line: headerLine }, options);
  for (const row of rows) reader.add(row);
  return reader.examples;
}

/** Where the columns of a table are named. */
interface Header {
  readonly columns: readonly string[];
  readonly line: number;
}

/** Rows of a table as examples, one after the other. The header tells the task, if none is given. */
export class ExampleReader {
  readonly #file: string;
  readonly #names: ColumnNames;
  readonly #task: ExampleTask;
  readonly #kind: Kind;
  readonly #examples: Example[] = [];

  constructor(file: string, { columns, line }: Header, options: ExampleOptions = {}) {
    const header = { columns, file, line };
    this.#file = file;
    this.#names = columnNames(options.columns);
    this.#task = options.task ?? chooseTask(header, options.columns);
    this.#kind = this.#task === "classify" ? (options.labelling ?? chooseLabelling(columns, options.columns)) : this.#task;
    const wanted: readonly Role[] = this.#kind === "several" ? ["text", "labels"] : tasks[this.#task];
    for (const role of wanted) if (!columns.includes(this.#names[role])) throw missingColumn(role, this.#names[role], header);
  }

  add(row: Row): void {
    this.#examples.push(readers[this.#kind](reader(row, this.#names, this.#file), this.#file, row.line));
    refuseTooMany(this.#examples.length, this.#file);
  }

  get examples(): Examples {
    return together(this.#task, this.#examples);
  }
}

/** The type cannot see that a task and the examples made for it belong together. */
export const together = (task: ExampleTask, examples: Example[]): Examples => ({ task, examples }) as Examples;

function reader({ line, fields }: Row, names: ColumnNames, file: string): Read {
  return (role, as) => {
    const column = names[role];
    if (!fields.has(column)) throw missingColumn(role, column, { columns: [...fields.keys()], file, line });
    return as(fields.get(column), { role, column, file, line });
  };
}

/** What a model is given: the text, or the source. */
export const inputOf = (example: Example): string => ("source" in example ? example.source : example.text);

/** What a model should answer. */
export function answerOf(example: Example): string | readonly string[] {
  if ("source" in example) return example.target;
  if ("labels" in example) return example.labels;
  return "tags" in example ? example.tags : example.label;
}
