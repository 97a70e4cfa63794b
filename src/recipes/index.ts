import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { addition } from "./addition.ts";
import { book } from "./book.ts";
import { layernorm } from "./layernorm.ts";
import { letterCounting } from "./letter-counting.ts";
import { positions } from "./positions.ts";
import { pronounce } from "./pronounce.ts";
import type { Recipe } from "./recipe.ts";
import { reviews } from "./reviews.ts";
import { copy, reverse, sort } from "./strings.ts";
import { text27 } from "./text27.ts";
import { translate } from "./translate.ts";

export type { LongerTests, Recipe, RecipeData, RecipeSettings } from "./recipe.ts";

export const recipes: readonly Recipe[] = [
  book,
  letterCounting,
  text27,
  reviews,
  translate,
  pronounce,
  copy,
  reverse,
  sort,
  addition,
  positions,
  layernorm,
];

export function recipe(name: string): Recipe {
  const found = recipes.find((one) => one.name === name);
  if (found) return found;
  const names = recipes.map((one) => one.name);
  throw new ConfigError(`there is no recipe called "${name}"${suggest(name, names) || `; there are ${names.join(", ")}`}`, {
    code: "config.unknown-name",
  });
}
