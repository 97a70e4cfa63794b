import type { ExampleRow } from "../../../src/evaluation/answered.ts";

// What was wanted crossed with what was said: how often each met each, and the examples behind it.

export interface Crossing {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly counts: readonly (readonly number[])[];
  /** The examples of one cell, in their order. */
  behind(row: number, column: number): readonly ExampleRow[];
}

/** What of an example belongs to which cells: one for a label, one for each word of tags. */
type Places = (example: ExampleRow) => readonly (readonly [row: number, column: number])[];

function crossed(rows: readonly string[], columns: readonly string[], examples: readonly ExampleRow[], places: Places): Crossing {
  const counts = rows.map(() => columns.map(() => 0));
  const cells = new Map<string, Set<ExampleRow>>();
  for (const example of examples)
    for (const [row, column] of places(example)) {
      if (row < 0 || column < 0) continue;
      counts[row][column]++;
      const key = `${row},${column}`;
      cells.set(key, (cells.get(key) ?? new Set()).add(example));
    }
  return { rows, columns, counts, behind: (row, column) => [...(cells.get(`${row},${column}`) ?? [])] };
}

/** One label for a text. */
export const crossedLabels = (labels: readonly string[], examples: readonly ExampleRow[]): Crossing =>
  crossed(labels, labels, examples, ({ wanted, said }) => [[labels.indexOf(wanted), labels.indexOf(said)]]);

/** A tag for every word: an example is behind as many cells as it has pairs. */
export const crossedTags = (labels: readonly string[], examples: readonly ExampleRow[]): Crossing =>
  crossed(labels, labels, examples, ({ wanted, said }) => {
    const found = said.split(" ");
    return wanted.split(" ").map((tag, i) => [labels.indexOf(tag), labels.indexOf(found[i] ?? "")] as const);
  });

/** One of several labels that a text may have: there or not, given or not. */
export const crossedPresence = (label: string, labels: readonly string[], examples: readonly ExampleRow[]): Crossing =>
  crossed(["there", "not there"], ["given", "not given"], examples, ({ wanted, said }) => [
    [labelsIn(wanted, labels).has(label) ? 0 : 1, labelsIn(said, labels).has(label) ? 0 : 1],
  ]);

/** Labels with commas between them; a label may have commas itself, so the longest that fits comes first. */
export function labelsIn(text: string, labels: readonly string[]): ReadonlySet<string> {
  const byLength = [...labels].sort((a, b) => b.length - a.length);
  const found = new Set<string>();
  let rest = text.trim();
  while (rest !== "") {
    const next = byLength.find((label) => rest === label || rest.startsWith(`${label},`));
    if (next === undefined) rest = rest.replace(/^[^,]*,?\s*/, "");
    else {
      found.add(next);
      rest = rest.slice(next.length).replace(/^,\s*/, "");
    }
  }
  return found;
}

export interface CalibrationBin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** The mean of what the model said of itself, and the share that was right. */
  readonly confidence: number;
  readonly accuracy: number;
}

/** Answers by how sure the model was, in bins of equal width; empty ones are left out. */
export function calibrationOf(examples: readonly ExampleRow[], bins = 10): readonly CalibrationBin[] {
  const of = (probability: number) => Math.min(bins - 1, Math.max(0, Math.ceil(probability * bins) - 1)); // a bin has its upper end
  return Array.from({ length: bins }, (_, bin) => {
    const inside = examples.filter(({ probability }) => probability !== null && of(probability) === bin);
    const mean = (value: (example: ExampleRow) => number) => inside.reduce((sum, one) => sum + value(one), 0) / inside.length;
    return {
      from: bin / bins,
      to: (bin + 1) / bins,
      count: inside.length,
      confidence: mean(({ probability }) => probability ?? 0),
      accuracy: mean(({ correct }) => (correct ? 1 : 0)),
    };
  }).filter(({ count }) => count > 0);
}
