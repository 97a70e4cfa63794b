/** Items by a size, in groups up to each of the edges and above the last: for 4 and 6, `1–4`, `5–6` and `7+`. Groups without items are left out. */
export function inBuckets<T>(items: readonly T[], sizeOf: (item: T) => number, edges: readonly number[]): Map<string, T[]> {
  const starts = [1, ...edges.map((edge) => edge + 1)];
  const names = starts.map((start, i) => {
    if (i === edges.length) return `${start}+`;
    return start === edges[i] ? `${start}` : `${start}–${edges[i]}`;
  });
  const groups = new Map(names.map((name): [string, T[]] => [name, []]));
  for (const item of items) {
    const edge = edges.findIndex((most) => sizeOf(item) <= most);
    groups.get(names[edge < 0 ? edges.length : edge])?.push(item);
  }
  return new Map([...groups].filter(([, own]) => own.length > 0));
}

/** One number for each group. */
export function byBucket<T>(groups: ReadonlyMap<string, readonly T[]>, measure: (items: readonly T[]) => number): Record<string, number> {
  return Object.fromEntries([...groups].map(([name, items]) => [name, measure(items)]));
}

export const share = <T>(items: readonly T[], isSo: (item: T) => boolean): number => items.filter(isSo).length / items.length;
