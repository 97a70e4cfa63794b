import { DataError, type ErrorFacts } from "../base/errors.ts";
import type { Role } from "./columns.ts";
import type { ChatMessage } from "./examples.ts";
import { kindOf, quoted } from "./quote.ts";

/** A field of a row: what it is for, what its column is called, and where it is. */
export interface Field {
  readonly role: Role;
  readonly column: string;
  readonly file: string;
  readonly line: number;
}

/** Text, or a number or truth value written as text. Never empty. */
export function scalar(value: unknown, { role, column, file, line }: Field): string {
  const need = role === "tags" || role === "labels" ? role : `a ${role}`;
  return textOf(value, { what: `the column ${quoted(column)}`, need, unit: "line", place: { file, line } });
}

/** Tags between spaces, or a list of them. At least one. */
export function tagList(value: unknown, field: Field): string[] {
  if (!Array.isArray(value)) return scalar(value, field).trim().split(/\s+/u);
  const { column, file, line } = field;
  if (value.length === 0) return [scalar("", field)];
  return value.map((tag, i) =>
    textOf(tag, { what: `tag ${i + 1} of the column ${quoted(column)}`, need: "tags", unit: "line", place: { file, line } }),
  );
}

/** Labels between spaces, or a list of them, each once. There may be none. */
export function labelList(value: unknown, field: Field): string[] {
  const { column, file, line } = field;
  return labelsIn(
    value,
    () => scalar(value, field),
    (label, i) =>
      textOf(label, { what: `label ${i + 1} of the column ${quoted(column)}`, need: "labels", unit: "line", place: { file, line } }),
  );
}

/** The same of a value from anywhere: as a text, or each label of a list. */
export function labelsIn(value: unknown, whole: () => string, each: (label: unknown, i: number) => string): string[] {
  if (typeof value === "string" && value.trim() === "") return [];
  return [...new Set(Array.isArray(value) ? value.map(each) : whole().trim().split(/\s+/u))];
}

/** Messages of a conversation: each with a role and a content, in a list or as JSON. */
export function messageList(value: unknown, { column, file, line }: Field): ChatMessage[] {
  return messagesIn(value, `the column ${quoted(column)}`, { file, line });
}

/** The same of a value from anywhere. */
export function messagesIn(value: unknown, what: string, place: ErrorFacts): ChatMessage[] {
  const list = typeof value === "string" ? parsed(value) : value;
  if (!Array.isArray(list) || list.length === 0)
    throw new DataError(`${what} holds ${Array.isArray(list) ? "no message" : kindOf(value)}; wanted a list of { role, content }`, place);
  return list.map((message: unknown, i) => {
    const at = `message ${i + 1} of ${what}`;
    if (typeof message !== "object" || message === null || Array.isArray(message))
      throw new DataError(`${at} is ${kindOf(message)}; wanted { role, content }`, place);
    const { role, content, ...others } = message as Readonly<Record<string, unknown>>;
    if (typeof role !== "string" || role === "") throw new DataError(`${at} has no role, such as "user" or "assistant"`, place);
    if (typeof content !== "string") throw new DataError(`${at} has ${kindOf(content)} for its content; wanted text`, place);
    return { ...others, role, content: readable(content, `the content of ${at}`, place) };
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The text of a row that is to be answered, where nothing at all may stand too. */
export function textOrNothing(value: unknown, column: string, place: ErrorFacts): string {
  return value === null ? "" : readable(value, `the column ${quoted(column)}`, place);
}

/** How a value is called in errors, and where it is. */
interface Named {
  readonly what: string;
  /** What every example needs: "a label". */
  readonly need: string;
  /** What an example stands on. */
  readonly unit: "line" | "row";
  readonly place: ErrorFacts;
}

/** A value as text that can be learned from. */
export function textOf(value: unknown, { what, need, unit, place }: Named): string {
  const text = readable(value, what, place);
  if (text.trim() === "") throw new DataError(`${what} is empty; every example needs ${need} (remove the ${unit} or fill it in)`, place);
  return text;
}

function readable(value: unknown, what: string, place: ErrorFacts): string {
  const text = typeof value === "string" ? value : written(value, what, place);
  if (text.includes("\0")) throw new DataError(`${what} holds a NUL character, which no text has; remove it`, place);
  if (/\p{Surrogate}/u.test(text))
    throw new DataError(`${what} holds half a surrogate pair (\\ud800 to \\udfff), which is no character; remove it`, place);
  return text;
}

function written(value: unknown, what: string, place: ErrorFacts): string {
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number") throw new DataError(`${what} holds ${kindOf(value)}; wanted text, a number or true or false`, place);
  const exact = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  if (!exact) throw new DataError(`${what} holds a number too large to be kept exactly; put it between quotes`, place);
  return String(value);
}
