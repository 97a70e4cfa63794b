import { checkPairs, countOverlap, noOverlap, words } from "./ngrams.ts";

const orders = 6;
const beta = 2; // recall counts beta times as much as precision

/**
 * Corpus chrF2 from 0 to 100 (Popović 2015) as sacreBLEU counts it by default: runs of one to six characters without the white
 * space between words. An order that either side is too short for does not count.
 */
export function chrf(hypotheses: readonly string[], references: readonly string[]): number {
  checkPairs(hypotheses, references);
  const counts = noOverlap(orders);
  for (const [i, hypothesis] of hypotheses.entries()) countSentence(counts, characters(hypothesis), characters(references[i]));
  const counted = counts.filter(({ hypothesis, reference }) => hypothesis > 0 && reference > 0);
  const precision = mean(counted.map(({ matches, hypothesis }) => matches / hypothesis));
  const recall = mean(counted.map(({ matches, reference }) => matches / reference));
  if (precision + recall === 0) return 0;
  return Math.min(100, (100 * (1 + beta ** 2) * precision * recall) / (beta ** 2 * precision + recall));
}

/** A reference too short for an order says nothing about it, so the hypothesis is not blamed for that order either. */
function countSentence(counts: ReturnType<typeof noOverlap>, hypothesis: string[], reference: string[]): void {
  const sentence = noOverlap(orders);
  countOverlap(sentence, hypothesis, reference, "");
  for (const [i, count] of counts.entries()) {
    count.matches += sentence[i].matches;
    count.reference += sentence[i].reference;
    if (sentence[i].reference > 0) count.hypothesis += sentence[i].hypothesis;
  }
}

const characters = (text: string): string[] => [...words(text).join("")];

const mean = (numbers: readonly number[]): number => (numbers.length === 0 ? 0 : numbers.reduce((a, b) => a + b) / numbers.length);
