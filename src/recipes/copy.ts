import type { Recipe } from "./recipe.ts";
import { stringPairs, stringSettings } from "./strings.ts";

export const copy: Recipe = {
  name: "copy",
  teaches: "cross-attention walks along: the n-th letter that is written looks at the n-th that was read, and its map is a diagonal",
  result: "exact match 1.0 on 1,023 held-out strings, and 0.0 on strings longer than any trained on, quick and full",
  task: "translate",
  data: async () => stringPairs("copy", (text) => text),
  settings: stringSettings,
};
