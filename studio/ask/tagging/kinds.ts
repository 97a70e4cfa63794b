/** What a tag marks: B- and I- of one type belong together, and O is nothing. */
export const typeOf = (tag: string): string => (tag === "O" ? "" : tag.replace(/^[BIESLU]-/, ""));

/** Which colour a tag has: the same for all tags of one type, 0 for none. */
export function kindOf(tag: string, labels: readonly string[]): number {
  const types = [...new Set(labels.map(typeOf))].filter((type) => type !== "");
  const at = types.indexOf(typeOf(tag));
  return at < 0 ? 0 : (at % 6) + 1;
}
