import fc from "fast-check";
import { expect, it } from "vitest";
import { learnMerges } from "../../src/tokens/merges.ts";

type Words = readonly (readonly [string, number])[];

/** The same in the plainest way: count all pairs anew before each merge. */
function plainMerges(words: Words, alphabet: readonly string[], size: number): string[][] {
  const tokens = [...alphabet];
  let cut = words.map(([word, count]) => [[...word], count] as const);
  const merges: string[][] = [];
  while (tokens.length < size) {
    const counts = new Map<string, number>();
    for (const [symbols, count] of cut) {
      for (let i = 0; i + 1 < symbols.length; i++) {
        const pair = `${symbols[i]} ${symbols[i + 1]}`;
        counts.set(pair, (counts.get(pair) ?? 0) + count);
      }
    }
    const order = (pair: string): number => pair.split(" ").reduce((key, token) => 1000 * key + tokens.indexOf(token), 0);
    const [best] = [...counts].sort(([a, countA], [b, countB]) => countB - countA || order(a) - order(b));
    if (!best || best[1] < 2) break;
    const [left, right] = best[0].split(" ");
    merges.push([left, right]);
    if (!tokens.includes(left + right)) tokens.push(left + right);
    cut = cut.map(([symbols, count]) => [merge(symbols, left, right), count] as const);
  }
  return merges;
}

function merge(symbols: readonly string[], left: string, right: string): string[] {
  const merged: string[] = [];
  for (let i = 0; i < symbols.length; i++) {
    if (symbols[i] === left && symbols[i + 1] === right) merged.push(left + symbols[++i]);
    else merged.push(symbols[i]);
  }
  return merged;
}

it("learns what counting all pairs anew before each merge would learn", async () => {
  const alphabet = ["a", "b", "c"];
  const word = fc.array(fc.constantFrom("a", "a", "b", "c"), { minLength: 1, maxLength: 14 }).map((letters) => letters.join(""));
  const words = fc.array(fc.tuple(word, fc.integer({ min: 1, max: 5 })), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(words, fc.integer({ min: 3, max: 40 }), async (given, size) => {
      const symbols = given.map(([text, count]) => [[...text].map((letter) => alphabet.indexOf(letter)), count] as const);
      const learned = await learnMerges(symbols, [...alphabet], size, (left, right) => left + right);
      expect(learned).toEqual(plainMerges(given, alphabet, size));
    }),
    { numRuns: 500 },
  );
});
