import type { Recipe } from "./recipe.ts";
import { stringPairs, stringSettings } from "./strings.ts";

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
