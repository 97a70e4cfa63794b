import { DataError } from "../base/errors.ts";

// What BLEU and chrF share: both count the n-grams of a hypothesis that its reference has too.

export interface Overlap {
  hypothesis: number;
  reference: number;
  matches: number;
}

/** Adds the n-grams of one sentence to the counts so far; counts[n - 1] is for those of n units. */
export function countOverlap(
  counts: readonly Overlap[],
  hypothesis: readonly string[],
  reference: readonly string[],
  between: string,
): void {
  for (const [i, count] of counts.entries()) {
    const wanted = ngrams(reference, i + 1, between);
    for (const [ngram, times] of ngrams(hypothesis, i + 1, between)) count.matches += Math.min(times, wanted.get(ngram) ?? 0);
    count.hypothesis += Math.max(0, hypothesis.length - i);
    count.reference += Math.max(0, reference.length - i);
  }
}

function ngrams(units: readonly string[], n: number, between: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (let i = 0; i + n <= units.length; i++) {
    const ngram = units.slice(i, i + n).join(between);
    counts.set(ngram, (counts.get(ngram) ?? 0) + 1);
  }
  return counts;
}

export const noOverlap = (orders: number): Overlap[] => Array.from({ length: orders }, () => ({ hypothesis: 0, reference: 0, matches: 0 }));

/** Python's str.split(): its white space has four separators and NEL more than JavaScript's, and no byte order mark. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: U+001C to U+001F are white space to Python
const whitespace = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;

export const words = (text: string): string[] => text.split(whitespace).filter((word) => word !== "");

/** Without the white space at its end, as Python's str.rstrip() cuts it. */
export function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && whitespace.test(text[end - 1])) end--;
  return text.slice(0, end);
}

export function checkPairs(hypotheses: readonly unknown[], references: readonly unknown[]): void {
  const [found, wanted] = [hypotheses.length, references.length];
  if (found !== wanted) throw new DataError(`${found} answers cannot be compared with ${wanted} references; give one for each`);
  if (found === 0) throw new DataError("no answers to score; give at least one with its reference");
}
