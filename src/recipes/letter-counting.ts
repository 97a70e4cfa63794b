import { chance } from "../base/chance.ts";
import type { Tagged } from "../text/examples.ts";
import type { Recipe } from "./recipe.ts";

const letters = "abcdefghijklmnopqrstuvwxyz ";
export const length = 20;

/** Strings of a few letters, so that many come again, with 0, 1 or 2 (or more) for how often each was there before. */
function strings(count: number, purpose: string): Tagged[] {
  const source = chance(1).fork("letter-counting").fork(purpose);
  return Array.from({ length: count }, (_, i) => {
    const own = source.fork(i);
    const kinds = 3 + own.integer(0, 12); // how many different letters this string draws from
    const alphabet = Array.from({ length: kinds }, (_, k) => letters[own.fork("alphabet").integer(k, letters.length)]);
    const text = Array.from({ length }, (_, k) => alphabet[own.fork("text").integer(k, kinds)]).join("");
    return { text, tags: countsBefore(text) };
  });
}

/** For every character, how often it occurred before: 0, 1, or 2 for two and more. */
export function countsBefore(text: string): string[] {
  const seen = new Map<string, number>();
  return Array.from(text, (character) => {
    const before = seen.get(character) ?? 0;
    seen.set(character, before + 1);
    return `${Math.min(before, 2)}`;
  });
}

export const letterCounting: Recipe = {
  name: "letter-counting",
  teaches: "attention finds equal letters: for every character of a string, how often it was there before (0, 1, 2 or more)",
  result: "accuracy 0.99995 on 1,000 strings that it never saw, in 20 seconds; the study of this name leaves out one part in turn",
  task: "tag",
  data: async () => ({
    kind: "examples",
    task: "tag",
    train: strings(10_000, "train"),
    valid: strings(1_000, "valid"),
    test: strings(1_000, "test"),
  }),
  settings: (full) => ({
    tokenizer: "char",
    model: { layers: 2, heads: 2, width: 64, hidden: 128, context: length, positions: "learned", dropout: 0 },
    training: { batch: 64, steps: full ? 4000 : 1500, lr: 3e-3, warmup: 50 },
  }),
};
