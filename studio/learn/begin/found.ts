import { chooseLabelling, chooseTask, type ExampleTask, holdsMessages, tasks } from "../../../src/text/columns.ts";
import { parseRows, type TableFormat } from "../../../src/text/rows.ts";

// What data is, told before it is trained on: a text, or a table with a task that its columns tell.

export type DataFormat = TableFormat | "txt";

export type Found =
  | { readonly kind: "text"; readonly characters: number; readonly lines: number; readonly different: number }
  | {
      readonly kind: "table";
      readonly task: ExampleTask;
      readonly rows: number;
      readonly columns: readonly string[];
      /** Labels with how many rows have each, the most frequent first. */
      readonly classes: readonly (readonly [label: string, rows: number])[];
      readonly first: readonly Readonly<Record<string, string>>[];
    }
  | { readonly kind: "wrong"; readonly message: string };

const known: readonly DataFormat[] = ["txt", "tsv", "csv", "jsonl"];

/** By the end of its name; any other file is read as a text. */
export function formatOf(name: string): DataFormat {
  const end = name.toLowerCase().split(".").at(-1);
  return known.find((format) => format === end) ?? "txt";
}

/** What was pasted has no name: its first line tells. */
export function formatIn(text: string): DataFormat {
  const [first = ""] = text.trimStart().split("\n", 1);
  if (/^\{.*\}\s*$/.test(first) && isJson(first)) return "jsonl";
  const names = /^(text|label|labels|tags|source|target|prompt|completion)$/;
  for (const [format, mark] of [
    ["tsv", "\t"],
    ["csv", ","],
  ] as const) {
    const columns = first
      .trim()
      .split(mark)
      .map((one) => one.trim().replace(/^"(.*)"$/, "$1"));
    if (columns.length > 1 && columns.some((one) => names.test(one))) return format;
  }
  return "txt";
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

export function foundIn(text: string, format: DataFormat, name: string): Found {
  if (text.trim() === "") return { kind: "wrong", message: `${name} is empty; it should hold a text, or examples, one a line` };
  if (format === "txt")
    return { kind: "text", characters: text.length, lines: text.trimEnd().split("\n").length, different: new Set(text).size };
  try {
    return tableIn(text, format, name);
  } catch (error) {
    return { kind: "wrong", message: error instanceof Error ? error.message : String(error) };
  }
}

const shownRows = 3;

function tableIn(text: string, format: TableFormat, name: string): Found {
  const { columns, headerLine, rows } = parseRows(text, format, name);
  const task = chooseTask({ columns, file: name, line: headerLine });
  const answer = task === "classify" && chooseLabelling(columns) === "several" ? "labels" : tasks[task][1];
  const counts = new Map<string, number>();
  const first: Record<string, string>[] = [];
  let count = 0;
  for (const { fields } of rows) {
    count++;
    if (first.length < shownRows) first.push(Object.fromEntries([...fields].map(([key, value]) => [key, written(value)])));
    if (task !== "classify") continue;
    const given = fields.get(answer);
    const labels = answer === "label" ? [written(given)] : Array.isArray(given) ? given.map(written) : written(given).split(/[ ,]+/);
    for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  const classes = [...counts].sort(([, a], [, b]) => b - a);
  return { kind: "table", task: task === "lm" && holdsMessages(columns) ? "lm" : task, rows: count, columns, classes, first };
}

const written = (value: unknown): string => (typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value));

/** Characters of an example that is shown again and again. */
const mostShown = 120;

/** What a model is shown while it learns: the beginning of its text, or the longest input of its first rows. */
export function promptOf(found: Found, text: string): string | undefined {
  if (found.kind === "text") return promptIn(text);
  if (found.kind === "wrong") return undefined;
  const inputs = found.first.map((row) => row[tasks[found.task][0]] ?? "");
  return (
    inputs.reduce((longest, one) => (one.length > longest.length && one.length <= mostShown ? one : longest), inputs[0] ?? "") || undefined
  );
}

/** Where a model is shown to go on from: the beginning of its own text, to the end of a word. */
export function promptIn(text: string, most = 32): string {
  const begin = text.trimStart().replace(/\s+/g, " ");
  if (begin.length <= most) return begin.trimEnd();
  const cut = begin.slice(0, most);
  return cut.slice(0, Math.max(cut.lastIndexOf(" "), 0) || most);
}
