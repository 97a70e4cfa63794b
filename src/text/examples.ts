import {
  type ColumnNames,
  type Columns,
  chooseLabelling,
  chooseTask,
  columnNames,
  type ExampleTask,
  holdsMessages,
  type Labelling,
  missingColumn,
  type Role,
  tasks,
} from "./columns.ts";
import { type Field, labelList, messageList, scalar, tagList } from "./fields.ts";
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

/** A text to go on with, and what should come. */
export interface Completed extends Origin {
  readonly prompt: string;
  readonly completion: string;
}

/** Who speaks, and what is said; whatever else a template may ask for. */
export interface ChatMessage {
  readonly role: string;
  readonly content: string;
  readonly [other: string]: unknown;
}

/** Messages of which those of the role `assistant` are answers to learn. */
export interface Conversation extends Origin {
  readonly messages: readonly ChatMessage[];
  /** Answers before this message are only read. */
  readonly from?: number;
}

/** Whether a message is what a model should say. */
export const isAnswer = ({ role }: ChatMessage): boolean => role === "assistant";

interface ExampleOf {
  readonly lm: Completed | Conversation;
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

type Kind = Exclude<ExampleTask, "classify" | "lm"> | Labelling | "completed" | "chat";

/** The columns that an example of each kind is read from. */
const columnsOf: Readonly<Record<Kind, readonly Role[]>> = {
  several: ["text", "labels"],
  one: tasks.classify,
  translate: tasks.translate,
  tag: tasks.tag,
  completed: tasks.lm,
  chat: ["messages"],
};

const readers: Readonly<Record<Kind, (read: Read, file: string, line: number) => Example>> = {
  several: (read, file, line) => ({ text: read("text", scalar), labels: read("labels", labelList), file, line }),
  one: (read, file, line) => ({ text: read("text", scalar), label: read("label", scalar), file, line }),
  translate: (read, file, line) => ({ source: read("source", scalar), target: read("target", scalar), file, line }),
  tag: (read, file, line) => ({ text: read("text", scalar), tags: read("tags", tagList), file, line }),
  completed: (read, file, line) => ({ ...completedOf(read("prompt", asRead), read("completion", asRead)), file, line }),
  chat: (read, file, line) => ({ messages: read("messages", messageList), file, line }),
};

/** Text, or messages where both are messages. */
const asRead = (value: unknown, field: Field): string | ChatMessage[] =>
  Array.isArray(value) ? messageList(value, field) : scalar(value, field);

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
    this.#kind = kindOf(this.#task, columns, options);
    for (const role of columnsOf[this.#kind])
      if (!columns.includes(this.#names[role])) throw missingColumn(role, this.#names[role], header);
  }

  add(row: Row): void {
    this.#examples.push(readers[this.#kind](reader(row, this.#names, this.#file), this.#file, row.line));
    refuseTooMany(this.#examples.length, this.#file);
  }

  get examples(): Examples {
    return together(this.#task, this.#examples);
  }
}

function kindOf(task: ExampleTask, columns: readonly string[], { labelling, columns: renamed }: ExampleOptions): Kind {
  if (task === "lm") return holdsMessages(columns, renamed) ? "chat" : "completed";
  return task === "classify" ? (labelling ?? chooseLabelling(columns, renamed)) : task;
}

/** A prompt and a completion that are texts, or messages of one conversation. */
export function completedOf(
  prompt: string | readonly ChatMessage[],
  completion: string | readonly ChatMessage[],
): Completed | Conversation {
  if (typeof prompt === "string" && typeof completion === "string") return { prompt, completion };
  const before = typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt;
  const after = typeof completion === "string" ? [{ role: "assistant", content: completion }] : completion;
  return { messages: [...before, ...after], from: before.length };
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

/** What a model is given: the text, the source, the prompt, or the messages before the first answer that is learned. */
export function inputOf(example: Example): string {
  if ("source" in example) return example.source;
  if ("prompt" in example) return example.prompt;
  return "messages" in example ? JSON.stringify(example.messages.slice(0, firstAnswer(example))) : example.text;
}

/** What a model should answer. */
export function answerOf(example: Example): string | readonly string[] {
  if ("source" in example) return example.target;
  if ("prompt" in example) return example.completion;
  if ("messages" in example) return JSON.stringify(example.messages.slice(firstAnswer(example)));
  if ("labels" in example) return example.labels;
  return "tags" in example ? example.tags : example.label;
}

function firstAnswer({ messages, from = 0 }: Conversation): number {
  const found = messages.findIndex((message, i) => i >= from && isAnswer(message));
  return found < 0 ? messages.length : found;
}

/** All that is said in an example, as a vocabulary is learned from it. */
export function textsIn(example: Example): readonly string[] {
  if ("source" in example) return [example.source, example.target];
  if ("prompt" in example) return [example.prompt + example.completion];
  if ("messages" in example) return example.messages.map(({ role, content }) => `${role}\n${content}\n`);
  return [example.text];
}
