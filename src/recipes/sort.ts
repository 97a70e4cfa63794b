import type { Recipe } from "./recipe.ts";
import { stringPairs, stringSettings } from "./strings.ts";

export const sorted = (text: string): string => [...text].sort().join("");

export const sort: Recipe = {
  name: "sort",
  teaches: "attention looks for what a letter is, not for where it stands: the letters of a string in the order of the alphabet",
  result: "exact match 0.999 (full 1.0) on 952 held-out strings, and 0.0 on strings longer than any trained on",
  task: "translate",
  data: async () => stringPairs("sort", sorted),
  settings: stringSettings,
};
