import { DataError } from "../base/errors.ts";
import type { Role } from "./columns.ts";
import { kindOf, quoted } from "./quote.ts";

/** A field of a row: what it is for, what its column is called, and where it is. */
export interface Field {
  readonly role: Role;
  readonly column: string;
  readonly file: string;
  readonly line: number;
}

type Place = Pick<Field, "file" | "line">;

/** Text, or a number or truth value written as text. Never empty. */
export function scalar(value: unknown, { role, column, file, line }: Field): string {
  return asText(value, role === "tags" || role === "labels" ? role : `a ${role}`, `the column ${quoted(column)}`, { file, line });
}

/** Tags between spaces, or a list of them. At least one. */
export function tagList(value: unknown, field: Field): string[] {
  if (!Array.isArray(value)) return scalar(value, field).trim().split(/\s+/u);
  const { column, file, line } = field;
  if (value.length === 0) return [scalar("", field)];
  return value.map((tag, i) => asText(tag, "tags", `tag ${i + 1} of the column ${quoted(column)}`, { file, line }));
}

/** Labels between spaces, or a list of them, each once. There may be none. */
export function labelList(value: unknown, field: Field): string[] {
  const { column, file, line } = field;
  if (typeof value === "string" && value.trim() === "") return [];
  const labels = Array.isArray(value)
    ? value.map((label, i) => asText(label, "labels", `label ${i + 1} of the column ${quoted(column)}`, { file, line }))
    : scalar(value, field).trim().split(/\s+/u);
  return [...new Set(labels)];
}

/** The same of a row that is to be answered, where nothing at all may stand too. */
export function textOrNothing(value: unknown, column: string, place: Place): string {
  return value === null ? "" : readable(value, `the column ${quoted(column)}`, place);
}

function asText(value: unknown, need: string, what: string, place: Place): string {
  const text = readable(value, what, place);
  if (text.trim() === "") throw new DataError(`${what} is empty; every example needs ${need} (remove the line or fill it in)`, place);
  return text;
}

function readable(value: unknown, what: string, place: Place): string {
  const text = typeof value === "string" ? value : written(value, what, place);
  if (text.includes("\0")) throw new DataError(`${what} holds a NUL character, which no text has; remove it`, place);
  if (/\p{Surrogate}/u.test(text))
    throw new DataError(`${what} holds half a surrogate pair (\\ud800 to \\udfff), which is no character; remove it`, place);
  return text;
}

function written(value: unknown, what: string, place: Place): string {
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number") throw new DataError(`${what} holds ${kindOf(value)}; wanted text, a number or true or false`, place);
  const exact = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  if (!exact) throw new DataError(`${what} holds a number too large to be kept exactly; put it between quotes`, place);
  return String(value);
}
