import { checkPairs } from "./ngrams.ts";

/** The fewest insertions, deletions and replacements that make one list the other (Levenshtein 1966). */
export function editDistance<T>(a: readonly T[], b: readonly T[]): number {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const columns = b.length - start - end;
  const row = Int32Array.from({ length: columns + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length - start - end; i++) {
    let diagonal = row[0];
    row[0] = i;
    for (let j = 1; j <= columns; j++) {
      const replaced = diagonal + (a[start + i - 1] === b[start + j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = Math.min(replaced, row[j] + 1, row[j - 1] + 1);
    }
  }
  return row[columns];
}

/** Edits for each unit of the references: 0 is perfect, and long wrong answers go above 1. Words give the word error rate. */
export function errorRate<T>(hypotheses: readonly (readonly T[])[], references: readonly (readonly T[])[]): number {
  checkPairs(hypotheses, references);
  let edits = 0;
  let units = 0;
  for (const [i, reference] of references.entries()) {
    edits += editDistance(hypotheses[i], reference);
    units += reference.length;
  }
  return edits / Math.max(1, units); // references without a unit would divide by nothing
}

/** The share of answers that are their reference, letter for letter. */
export function exactMatch(hypotheses: readonly string[], references: readonly string[]): number {
  checkPairs(hypotheses, references);
  return hypotheses.filter((hypothesis, i) => hypothesis === references[i]).length / references.length;
}
