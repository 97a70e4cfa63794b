import { type Chance, chance } from "../base/chance.ts";
import type { Pair } from "../text/examples.ts";
import { inParts } from "./parts.ts";
import type { Recipe } from "./recipe.ts";

const digits = 4;

/**
 * `0957+0068` → `52010`: both numbers have the same number of digits, and the sum is written from its last digit on, as one does by
 * hand; so each digit follows from one column and the carry of the column before.
 */
export function sum(a: number, b: number, columns: number): Pair {
  const written = (number: number, length: number) => `${number}`.padStart(length, "0");
  return { source: `${written(a, columns)}+${written(b, columns)}`, target: [...written(a + b, columns + 1)].reverse().join("") };
}

/**
 * Numbers of one digit are as frequent as those of four. Where one of two digits is 0 the answer is the other, and that is learned
 * first; among numbers of four digits alone nothing can be learned from one digit without the other, and training stands still.
 */
function sums(count: number, columns: number, fewest: number): Pair[] {
  const source = chance(1).fork("addition").fork(columns);
  const number = (own: Chance) => own.integer(0, 10 ** (fewest + own.integer(1, columns - fewest + 1)));
  return Array.from({ length: count }, (_, i) => sum(number(source.fork(2 * i)), number(source.fork(2 * i + 1)), columns));
}

export const addition: Recipe = {
  name: "addition",
  teaches:
    "attention carries: the sum of two numbers of up to four digits, written from the last digit on, and each digit looks at its own column and at the one before",
  result: "exact match 1.0 on 804 held-out sums, and 0.0 on sums of five digits, quick and full",
  task: "translate",
  data: async () => ({
    kind: "examples",
    task: "translate",
    ...inParts(sums(20_000, digits, 1), { valid: 0.05, test: 0.05 }),
    longer: { Longer: sums(500, digits + 1, digits + 1) },
  }),
  settings: (full) => ({
    tokenizer: "char",
    model: {
      layers: 2,
      heads: 4,
      width: 64,
      hidden: 128,
      context: 2 * (digits + 1) + 2,
      positions: "learned",
      activation: "gelu",
      dropout: 0,
    },
    training: { batch: 64, steps: full ? 4000 : 2000, optimizer: "adamw", lr: 3e-3, warmup: 100, labelSmoothing: 0 },
  }),
};
