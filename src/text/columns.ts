import { DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { suggest } from "../base/suggest.ts";
import { listed, quoted } from "./quote.ts";

/** What is learned: a language model from text or from examples, tokens that are hidden (mlm) from text, the others from examples. */
export const taskNames = ["lm", "classify", "tag", "translate", "mlm"] as const;
export type Task = (typeof taskNames)[number];
/** What examples are for; those of a language model are prompts with their completions, or conversations. */
export const exampleTasks = ["classify", "tag", "translate", "lm"] as const satisfies readonly Task[];
export type ExampleTask = (typeof exampleTasks)[number];

/** What text without answers is for. */
export type TextTask = "lm" | "mlm";

/** What models from elsewhere are for besides: vectors of texts. */
export const foreignTasks = ["embed"] as const;
/** What a model can be for. */
export type ModelTask = Task | (typeof foreignTasks)[number];

/** What a column is for. */
export const roles = ["text", "label", "labels", "source", "target", "tags", "prompt", "completion", "messages"] as const;
export type Role = (typeof roles)[number];
export type ColumnNames = Readonly<Record<Role, string>>;
/** Names of one's own for columns. */
export type Columns = Partial<ColumnNames>;

/** The input and the answer of every task. */
export const tasks: Readonly<Record<ExampleTask, readonly [input: Role, answer: Role]>> = {
  classify: ["text", "label"],
  tag: ["text", "tags"],
  translate: ["source", "target"],
  lm: ["prompt", "completion"],
};

/** How many labels a text has: one of those that there are, or any number of them. */
export const labellings = ["one", "several"] as const;
export type Labelling = (typeof labellings)[number];

/** What may hold the answer of each task. */
const answers: Readonly<Record<ExampleTask, readonly Role[]>> = {
  classify: ["label", "labels"],
  tag: ["tags"],
  translate: ["target"],
  lm: ["completion", "messages"],
};

export interface Header {
  readonly columns: readonly string[];
  readonly file: string;
  readonly line: number;
}

export function columnNames(renamed: Columns = {}): ColumnNames {
  const { text = "text", label = "label", labels = "labels", source = "source", target = "target", tags = "tags" } = renamed;
  const { prompt = "prompt", completion = "completion", messages = "messages" } = renamed;
  return { text, label, labels, source, target, tags, prompt, completion, messages };
}

/** The task whose answer is there: labels, tags or a target. A column that was named on purpose counts before the usual names. */
export function chooseTask({ columns, file, line }: Header, renamed: Columns = {}): ExampleTask {
  const names = columnNames(renamed);
  const named = exampleTasks.filter((task) => answers[task].some((role) => renamed[role] !== undefined));
  const there = (role: Role) => columns.includes(names[role]);
  const found = named.length > 0 ? named : exampleTasks.filter((task) => answers[task].some(there));
  if (found.length === 1) return found[0];
  const answer = (task: ExampleTask): Role => answers[task].find(there) ?? tasks[task][1];
  const choices = (of: readonly ExampleTask[]): string => of.map((task) => `${quoted(names[answer(task)])} (${task})`).join(", ");
  const facts = { code: "data.columns", file, line } as const;
  if (found.length > 1)
    throw new DataError(sentence`the columns ${choices(found)} fit more than one task; choose with ${setting("task", found)}`, facts);
  const wanted = exampleTasks.flatMap((task) => answers[task].map((role) => names[role]));
  const near = printable(columns).map((column) => suggest(column, wanted));
  const tells = `no column tells the task (found ${listed(columns)}${near.find((text) => text !== "") ?? ""}); wanted one of ${choices(exampleTasks)}`;
  const [label, tags, target, completion] = (["label", "tags", "target", "completion"] as const).map(nameOf);
  throw new DataError(sentence`${tells}; rename one, or give its name with ${label}, ${tags}, ${target} or ${completion}`, facts);
}

/** One label for each text, where there is such a column or one is named; several, where there are only those. */
export function chooseLabelling(columns: readonly string[], renamed: Columns = {}): Labelling {
  const names = columnNames(renamed);
  if (renamed.label !== undefined) return "one";
  if (renamed.labels !== undefined) return "several";
  return columns.includes(names.labels) && !columns.includes(names.label) ? "several" : "one";
}

/** Whether what a language model learns from is conversations: where there are messages and no completions, or these are named. */
export function holdsMessages(columns: readonly string[], renamed: Columns = {}): boolean {
  const names = columnNames(renamed);
  if (renamed.completion !== undefined) return false;
  return renamed.messages !== undefined || (columns.includes(names.messages) && !columns.includes(names.completion));
}

/** What to say of a column that is not there. */
export function missingColumn(role: Role, column: string, { columns, file, line }: Header): DataError {
  const near = column.length > 64 ? "" : suggest(column, printable(columns));
  const found = `no column ${quoted(column)} (found ${listed(columns)}${near})`;
  return new DataError(sentence`${found}; rename one, or give its name with ${nameOf(role)}`, {
    code: "data.columns",
    path: `columns.${role}`,
    file,
    line,
  });
}

/** The setting that gives a column another name. */
const nameOf = (role: Role) => setting(`columns.${role}`);

/** Names that can be compared in no time and shown as they are. */
const printable = (columns: readonly string[]): string[] =>
  columns.slice(0, 1000).filter((name) => name.length <= 64 && JSON.stringify(name).length === name.length + 2);
