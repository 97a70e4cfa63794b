import { editDistance } from "../metrics/edits.ts";
import { words } from "../metrics/ngrams.ts";
import type { Pair } from "../text/examples.ts";

// A source that comes several times has several right answers: the targets of all its examples.

export interface Question {
  /** The place of its first example. */
  readonly place: number;
  /** What may be answered, in the order of the examples. */
  readonly references: readonly string[];
}

/** Every source once. */
export function questionsOf(examples: readonly Pair[]): Question[] {
  const bySource = new Map<string, { place: number; references: string[] }>();
  for (const [place, { source, target }] of examples.entries()) {
    const known = bySource.get(source);
    if (known) known.references.push(target);
    else bySource.set(source, { place, references: [target] });
  }
  return [...bySource.values()];
}

/** The reference that an answer is measured against: the same text, or else the one with the fewest edits of words, the first of several. */
export function nearest(answer: string, references: readonly string[]): string {
  if (references.length === 1) return references[0];
  if (references.includes(answer)) return answer;
  const found = words(answer);
  const edits = references.map((reference) => editDistance(found, words(reference)));
  return references[edits.indexOf(Math.min(...edits))];
}
