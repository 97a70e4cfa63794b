import { DataError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { listed, quoted } from "./quote.ts";

export type Task = "lm" | "classify" | "tag" | "translate";
export type ExampleTask = Exclude<Task, "lm">;

/** What a column is for. */
export type Role = "text" | "label" | "source" | "target" | "tags";
export type ColumnNames = Readonly<Record<Role, string>>;
/** Names of one's own for columns, as `--text-column` and its like give them. */
export type Columns = Partial<ColumnNames>;

/** The input and the answer of every task. */
export const tasks: Readonly<Record<ExampleTask, readonly [input: Role, answer: Role]>> = {
  classify: ["text", "label"],
  tag: ["text", "tags"],
  translate: ["source", "target"],
};

const exampleTasks = ["classify", "tag", "translate"] as const satisfies readonly ExampleTask[];

export interface Header {
  readonly columns: readonly string[];
  readonly where: string;
}

export function columnNames(renamed: Columns = {}): ColumnNames {
  const { text = "text", label = "label", source = "source", target = "target", tags = "tags" } = renamed;
  return { text, label, source, target, tags };
}

/** The task whose answer is there: a label, tags or a target. A column that was named on purpose counts before the usual names. */
export function chooseTask({ columns, where }: Header, renamed: Columns = {}): ExampleTask {
  const names = columnNames(renamed);
  const answer = (task: ExampleTask): Role => tasks[task][1];
  const named = exampleTasks.filter((task) => renamed[answer(task)] !== undefined);
  const found = named.length > 0 ? named : exampleTasks.filter((task) => columns.includes(names[answer(task)]));
  if (found.length === 1) return found[0];
  const choices = (of: readonly ExampleTask[]): string => of.map((task) => `${quoted(names[answer(task)])} (${task})`).join(", ");
  if (found.length > 1) {
    throw new DataError(`${where}: the columns ${choices(found)} fit more than one task; choose with --task ${found.join("|")}`);
  }
  const answers = exampleTasks.map((task) => names[answer(task)]);
  const near = printable(columns).map((column) => suggest(column, answers));
  throw new DataError(
    `${where}: no column tells the task (found ${listed(columns)}${near.find((text) => text !== "") ?? ""}); wanted one of ${choices(exampleTasks)}; ` +
      "rename one, or give its name with --label-column, --tags-column or --target-column",
  );
}

/** What to say of a column that is not there. */
export function missing(role: Role, column: string, { columns, where }: Header): string {
  const near = column.length > 64 ? "" : suggest(column, printable(columns));
  return `${where}: no column ${quoted(column)} (found ${listed(columns)}${near}); rename one, or give its name with --${role}-column`;
}

/** Names that can be compared in no time and shown as they are. */
const printable = (columns: readonly string[]): string[] =>
  columns.slice(0, 1000).filter((name) => name.length <= 64 && JSON.stringify(name).length === name.length + 2);
