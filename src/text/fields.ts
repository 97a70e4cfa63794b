import { DataError } from "../base/errors.ts";
import type { Role } from "./columns.ts";
import { kindOf, quoted } from "./quote.ts";

/** A field of a row: what it is for, what its column is called, and the file and line that it is in. */
export interface Field {
  readonly role: Role;
  readonly column: string;
  readonly where: string;
}

/** Text, or a number or truth value written as text. Never empty. */
export function scalar(value: unknown, { role, column, where }: Field): string {
  return asText(value, role === "tags" ? "tags" : `a ${role}`, `${where}: the column ${quoted(column)}`);
}

/** Tags between spaces, or a list of them. At least one. */
export function tagList(value: unknown, field: Field): string[] {
  if (!Array.isArray(value)) return scalar(value, field).trim().split(/\s+/u);
  const place = `the column ${quoted(field.column)}`;
  if (value.length === 0) return [scalar("", field)];
  return value.map((tag, i) => asText(tag, "tags", `${field.where}: tag ${i + 1} of ${place}`));
}

function asText(value: unknown, need: string, place: string): string {
  const text = typeof value === "string" ? value : written(value, place);
  if (text.trim() === "") throw new DataError(`${place} is empty; every example needs ${need} (remove the line or fill it in)`);
  if (text.includes("\0")) throw new DataError(`${place} holds a NUL character, which no text has; remove it`);
  if (/\p{Surrogate}/u.test(text))
    throw new DataError(`${place} holds half a surrogate pair (\\ud800 to \\udfff), which is no character; remove it`);
  return text;
}

function written(value: unknown, place: string): string {
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number") throw new DataError(`${place} holds ${kindOf(value)}; wanted text, a number or true or false`);
  const exact = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  if (!exact) throw new DataError(`${place} holds a number too large to be kept exactly; put it between quotes`);
  return String(value);
}
