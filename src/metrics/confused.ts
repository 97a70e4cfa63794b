/** A label that was taken for another. */
export interface ConfusedPair {
  /** Places in the list of labels. */
  readonly truth: number;
  readonly found: number;
  readonly times: number;
  /** Of all that are so, 0–1. */
  readonly share: number;
}

/** The labels that were taken for others, the most frequent mistake first. */
export function confusedPairs(confusion: readonly (readonly number[])[]): ConfusedPair[] {
  const pairs = confusion.flatMap((row, truth) => {
    const all = row.reduce((a, b) => a + b, 0);
    return row.flatMap((times, found) => (times > 0 && found !== truth ? [{ truth, found, times, share: times / all }] : []));
  });
  return pairs.sort((a, b) => b.times - a.times || b.share - a.share || a.truth - b.truth || a.found - b.found);
}

/** The labels that have most to do with mistakes, at most so many, in their own order. */
export function troubled(confusion: readonly (readonly number[])[], most: number): number[] {
  const mistakes = confusion.map(() => 0);
  for (const { truth, found, times } of confusedPairs(confusion)) {
    mistakes[truth] += times;
    mistakes[found] += times;
  }
  const order = [...mistakes.keys()].sort((a, b) => mistakes[b] - mistakes[a] || a - b);
  return order.slice(0, most).sort((a, b) => a - b);
}
