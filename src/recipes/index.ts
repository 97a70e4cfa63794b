import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import { book } from "./book.ts";
import { letterCounting } from "./letter-counting.ts";
import { pronounce } from "./pronounce.ts";
import type { Recipe } from "./recipe.ts";

export type { Recipe, RecipeData, RecipeSettings } from "./recipe.ts";

export const recipes: readonly Recipe[] = [book, letterCounting, pronounce];

export function recipe(name: string): Recipe {
  const found = recipes.find((one) => one.name === name);
  if (found) return found;
  const names = recipes.map((one) => one.name);
  throw new ConfigError(`there is no recipe called "${name}"${suggest(name, names) || `; there are ${names.join(", ")}`}`);
}
