/** A part of a tokenizer.json that our own encoder does not know; the message names it. The file may still be of use to the package. */
export class NotUnderstood extends Error {}

/** A normaliser, pre-tokenizer or decoder of a file. */
export type Part = Readonly<Record<string, unknown>>;

export const partOf = (value: unknown, what: string): Part => {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value as Part;
  throw new NotUnderstood(`its ${what} is not written as usual`);
};

/** A true or false of a part, or what it is when it is left out. */
export function flagOf(part: Part, key: string, usual?: boolean): boolean {
  const value = part[key] ?? usual;
  if (typeof value === "boolean") return value;
  throw new NotUnderstood(`its ${String(part.type)} has no usual "${key}"`);
}

export function stringOf(part: Part, key: string, usual?: string): string {
  const value = part[key] ?? usual;
  if (typeof value === "string") return value;
  throw new NotUnderstood(`its ${String(part.type)} has no usual "${key}"`);
}

/** The parts of a Sequence, or the one part; none for null. */
export function partsOf(json: object | null, list: string): Part[] {
  if (json === null) return [];
  const part = partOf(json, list);
  if (part.type !== "Sequence") return [part];
  const inner = part[list];
  if (!Array.isArray(inner)) throw new NotUnderstood(`its Sequence has no list of ${list}`);
  return inner.flatMap((one) => partsOf(partOf(one, list), list));
}
