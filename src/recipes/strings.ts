import { type Chance, chance } from "../base/chance.ts";
import type { Pair } from "../text/examples.ts";
import { inParts } from "./parts.ts";
import type { Recipe, RecipeData, RecipeSettings } from "./recipe.ts";

// Strings of letters and what is to be made of them: `copy`, `reverse` and `sort`.

const letters = "abcdefghijklmnopqrstuvwxyz";
const shortest = 4;
const longestTrained = 12;
const longest = 2 * longestTrained;

/** A string of from `least` to `most` letters. */
function drawn(own: Chance, least: number, most: number): string {
  const length = least + own.fork("length").integer(0, most - least + 1);
  const text = own.fork("letters");
  return Array.from({ length }, (_, i) => letters[text.integer(i, letters.length)]).join("");
}

/** Strings of 4 to 12 letters with their answers, in three parts, and a fourth of 13 to 24 letters. */
function stringPairs(name: string, answer: (text: string) => string): RecipeData {
  const source = chance(1).fork(name);
  const pairs = (purpose: string, count: number, least: number, most: number): Pair[] =>
    Array.from({ length: count }, (_, i) => {
      const text = drawn(source.fork(purpose).fork(i), least, most);
      return { source: text, target: answer(text) };
    });
  const short = pairs("short", 20_000, shortest, longestTrained);
  return {
    kind: "examples",
    task: "translate",
    ...inParts(short, { valid: 0.05, test: 0.05 }),
    longer: { Longer: pairs("longer", 500, longestTrained + 1, longest) },
  };
}

/** A small encoder–decoder with room for the longer strings and the token that ends them. */
const stringSettings = (full: boolean): RecipeSettings => ({
  tokenizer: "char",
  model: { layers: 2, heads: 4, width: 64, hidden: 128, context: longest + 1, positions: "learned", activation: "gelu", dropout: 0 },
  training: { batch: 64, steps: full ? 4000 : 2000, optimizer: "adamw", lr: 3e-3, warmup: 100, labelSmoothing: 0 },
});

export const copy: Recipe = {
  name: "copy",
  teaches: "cross-attention walks along: the n-th letter that is written looks at the n-th that was read, and its map is a diagonal",
  result: "exact match 1.0 on 1,023 held-out strings, and 0.0 on strings longer than any trained on, quick and full",
  task: "translate",
  data: async () => stringPairs("copy", (text) => text),
  settings: stringSettings,
};

export const reversed = (text: string): string => [...text].reverse().join("");

export const reverse: Recipe = {
  name: "reverse",
  teaches:
    "cross-attention can walk backwards: the whole string is read before the first letter is written, and the map is the other diagonal",
  result: "exact match 1.0 on 996 held-out strings, and 0.0 on strings longer than any trained on, quick and full",
  task: "translate",
  data: async () => stringPairs("reverse", reversed),
  settings: stringSettings,
};

export const sorted = (text: string): string => [...text].sort().join("");

export const sort: Recipe = {
  name: "sort",
  teaches: "attention looks for what a letter is, not for where it stands: the letters of a string in the order of the alphabet",
  result: "exact match 0.999 (full 1.0) on 952 held-out strings, and 0.0 on strings longer than any trained on",
  task: "translate",
  data: async () => stringPairs("sort", sorted),
  settings: stringSettings,
};
