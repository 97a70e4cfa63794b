// How errors about data name what they found: short, whatever was found.

const longest = 40;

/** What JSON leaves as it is, though a terminal might obey it. */
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A value from a file between quotes, cut where it gets long. */
export function quoted(value: string): string {
  const short = value.length > longest ? `${value.slice(0, longest)}…` : value;
  return JSON.stringify(short).replace(unseen, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** `"text", "label"`, of many only the first. */
export function listed(names: readonly string[], most = 8): string {
  const shown = names.slice(0, most).map(quoted).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

/** What a JSON value is, in words. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return quoted(value);
  return typeof value === "object" ? "an object" : String(value);
}
