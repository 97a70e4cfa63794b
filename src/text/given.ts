import { DataError, type ErrorFacts } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { type ExampleTask, exampleTasks, type Labelling, type Role, type Task, type TextTask, tasks } from "./columns.ts";
import { type ChatMessage, type Completed, type Conversation, completedOf, type Example } from "./examples.ts";
import { labelsIn, messagesIn, textOf } from "./fields.ts";
import { kindOf, listed, quoted } from "./quote.ts";

// Rows that a program holds in memory, checked as the lines of a file are: every one has its input and its answer.

/**
 * A row to train on: a text and its label, a text and its labels (any number), a text and its tags, a source and its target; a prompt and its completion, or the
 * messages of a conversation, for a language model that learns the answers; or a text alone, for one that learns all of it.
 */
export type GivenRow =
  | { readonly text: string; readonly label: string | number | boolean }
  | { readonly text: string; readonly labels: string | readonly string[] }
  | { readonly text: string; readonly tags: string | readonly string[] }
  | { readonly source: string; readonly target: string }
  | { readonly prompt: string | readonly ChatMessage[]; readonly completion: string | readonly ChatMessage[] }
  | { readonly messages: readonly ChatMessage[] }
  | { readonly text: string };

/** Rows of one kind, there or still coming. Strings alone are texts, where they come one by one. */
export type GivenRows = Iterable<GivenRow> | AsyncIterable<GivenRow | string>;

/** What rows turned out to be. */
export type Given =
  | { readonly kind: "texts"; readonly task: TextTask; readonly texts: readonly string[] }
  | { readonly kind: "examples"; readonly task: ExampleTask; readonly examples: readonly Example[] };

const wanted =
  "{ text, label }, { text, labels }, { text, tags }, { source, target }, { prompt, completion }, { messages }, or { text } for a language model";

/** One row after the other; the first tells the task, if none is given. `name` is what errors call the list. */
export class RowReader {
  readonly #name: string;
  readonly #texts: string[] = [];
  readonly #examples: Example[] = [];
  #task: Task | undefined;
  /** Of a language model: whether rows are texts, as the first is. */
  #plain: boolean | undefined;
  /** Of labels: what the first row has, all have. */
  #labelling: Labelling | undefined;

  constructor(task: Task | undefined, name = "data", labelling?: Labelling) {
    this.#task = task;
    this.#labelling = labelling;
    this.#name = name;
  }

  add(row: unknown): void {
    const at = `${this.#name}[${this.#texts.length + this.#examples.length}]`;
    const fields = fieldsOf(row, at);
    this.#task ??= taskOf(fields, at);
    this.#plain ??= this.#task === "mlm" || (this.#task === "lm" && !("completion" in fields || "messages" in fields));
    if (this.#plain || this.#task === "mlm") this.#texts.push(field(fields, "text", this.#task, at));
    else {
      this.#labelling ??= fields.label === undefined && fields.labels !== undefined ? "several" : "one";
      this.#examples.push(exampleOf(fields, this.#task, this.#labelling, at));
    }
  }

  get given(): Given {
    if (this.#texts.length + this.#examples.length === 0)
      throw new DataError("there are no rows; give some to learn from", { code: "data.too-little", at: this.#name });
    if (this.#plain) return { kind: "texts", task: this.#task as TextTask, texts: this.#texts };
    return { kind: "examples", task: this.#task as ExampleTask, examples: this.#examples };
  }
}

type Fields = Readonly<Record<string, unknown>>;

const facts = (at: string): ErrorFacts => ({ code: "data.line", at });

function fieldsOf(row: unknown, at: string): Fields {
  if (typeof row === "string") return { text: row };
  if (typeof row === "object" && row !== null && !Array.isArray(row)) return row as Fields;
  throw new DataError(`found ${kindOf(row)}; a row is ${wanted}`, facts(at));
}

function taskOf(fields: Fields, at: string): ExampleTask {
  const found = exampleTasks.filter((task) => tasks[task].every((role) => role in fields));
  if (found.length === 1) return found[0];
  if (found.length > 1) throw new DataError(sentence`the row fits more than one task; choose with ${setting("task", found)}`, facts(at));
  const names = Object.keys(fields);
  if (names.includes("text") && names.includes("labels")) return "classify";
  if (names.includes("messages") || (names.includes("text") && names.length === 1)) return "lm";
  const answers = exampleTasks.map((task) => tasks[task][1]);
  const near = names.map((name) => suggest(name, answers)).find((text) => text !== "") ?? "";
  throw new DataError(`the row has ${names.length === 0 ? "nothing in it" : listed(names)}${near}; a row is ${wanted}`, facts(at));
}

function exampleOf(fields: Fields, task: ExampleTask, labelling: Labelling, at: string): Example {
  const read = (role: Role) => field(fields, role, task, at);
  switch (task) {
    case "classify":
      if (labelling === "one") return { text: read("text"), label: read("label"), at };
      return { text: read("text"), labels: labelsOf(fields, at), at };
    case "translate":
      return { source: read("source"), target: read("target"), at };
    case "tag":
      return { text: read("text"), tags: tagsOf(fields, at), at };
    case "lm":
      return { ...answered(fields, at), at };
  }
}

function answered(fields: Fields, at: string): Completed | Conversation {
  if ("messages" in fields && !("completion" in fields)) return { messages: messagesIn(fields.messages, `its "messages"`, facts(at)) };
  const read = (role: "prompt" | "completion") =>
    Array.isArray(fields[role]) ? messagesIn(fields[role], `its ${quoted(role)}`, facts(at)) : field(fields, role, "lm", at);
  return completedOf(read("prompt"), read("completion"));
}

function labelsOf(fields: Fields, at: string): string[] {
  if (fields.labels === undefined) field(fields, "labels", "classify", at); // says what is missing
  return labelsIn(
    fields.labels,
    () => field(fields, "labels", "classify", at),
    (label, i) => textOf(label, { what: `label ${i + 1}`, need: "labels", unit: "row", place: facts(at) }),
  );
}

function tagsOf(fields: Fields, at: string): string[] {
  if (!Array.isArray(fields.tags)) return field(fields, "tags", "tag", at).trim().split(/\s+/u);
  if (fields.tags.length === 0) return [field({ tags: "" }, "tags", "tag", at)];
  return fields.tags.map((tag, i) => textOf(tag, { what: `tag ${i + 1}`, need: "tags", unit: "row", place: facts(at) }));
}

function field(fields: Fields, role: Role, task: Task, at: string): string {
  if (fields[role] === undefined)
    throw new DataError(`the row has no ${quoted(role)} (found ${listed(Object.keys(fields))}), which ${task} needs`, facts(at));
  const need = role === "tags" || role === "labels" ? role : `a ${role}`;
  return textOf(fields[role], { what: `its ${quoted(role)}`, need, unit: "row", place: facts(at) });
}
