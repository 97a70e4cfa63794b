import { checkPairs, countOverlap, noOverlap, withoutEnd, words } from "./ngrams.ts";

/** The longest run of words that counts. */
export const bleuOrders = 4;

/**
 * Corpus BLEU from 0 to 100 (Papineni et al. 2002) as sacreBLEU counts it by default: words by the rules of mteval-v13a, case
 * kept, an order without a match smoothed by halving ("exp"), one reference for each hypothesis.
 */
export function bleu(hypotheses: readonly string[], references: readonly string[]): number {
  checkPairs(hypotheses, references);
  const counts = noOverlap(bleuOrders);
  for (const [i, hypothesis] of hypotheses.entries()) countOverlap(counts, tokens13a(hypothesis), tokens13a(references[i]), " ");
  const [{ hypothesis: length, reference: wanted }] = counts;
  if (counts.every(({ matches }) => matches === 0) || counts.some(({ hypothesis }) => hypothesis === 0)) return 0;
  let halved = 1;
  const logs = counts.map(({ matches, hypothesis: total }) => {
    if (matches === 0) halved *= 2;
    return Math.log(matches === 0 ? 100 / (halved * total) : (100 * matches) / total);
  });
  const brevity = length < wanted ? Math.exp(1 - wanted / length) : 1;
  return Math.min(100, brevity * Math.exp(logs.reduce((a, b) => a + b) / bleuOrders)); // rounding alone would give 100.00000000000004
}

const entities = [
  ["&quot;", '"'],
  ["&amp;", "&"],
  ["&lt;", "<"],
  ["&gt;", ">"],
] as const;

/** The words of mteval-v13a: punctuation stands alone, except for points and commas in numbers and hyphens in words. */
export function tokens13a(text: string): string[] {
  const flat = withoutEnd(text).replaceAll("<skipped>", "").replaceAll("-\n", "").replaceAll("\n", " ");
  const plain = entities.reduce((line, [entity, character]) => line.replaceAll(entity, character), flat);
  const apart = ` ${plain} `
    .replace(/([{-~[-` -&(-+:-@/])/gu, " $1 ")
    .replace(/([^0-9])([.,])/gu, "$1 $2 ")
    .replace(/([.,])([^0-9])/gu, " $1 $2")
    .replace(/([0-9])(-)/gu, "$1 $2 ");
  return words(apart);
}
