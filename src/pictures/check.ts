import { DataError } from "../base/errors.ts";
import type { AttentionLook } from "../inspection/look.ts";

export type Matrix = readonly (readonly number[])[];

/** Refuses what cannot be drawn as rows and columns: nothing, rows of different lengths, numbers that are none. */
export function checkMatrix(where: string, matrix: Matrix, wanted: { readonly rows?: number; readonly columns?: number } = {}): void {
  const { rows = matrix.length, columns = matrix[0]?.length ?? 0 } = wanted;
  if (rows === 0 || columns === 0) throw new DataError(`${where}: ${rows} rows and ${columns} columns; there is nothing to draw`);
  if (matrix.length !== rows) throw new DataError(`${where}: ${matrix.length} rows of numbers, but ${rows} labels for them`);
  matrix.forEach((row, i) => {
    if (row.length !== columns) throw new DataError(`${where}: row ${i} has ${row.length} numbers, wanted ${columns}`);
    checkNumbers(`${where}, row ${i}`, row);
  });
}

/** Refuses NaN and infinity, naming the first. */
export function checkNumbers(where: string, numbers: readonly number[]): void {
  const wrong = numbers.findIndex((value) => !Number.isFinite(value));
  if (wrong >= 0) throw new DataError(`${where}: number ${wrong} is ${numbers[wrong]}, which has no place in a picture`);
}

/** Refuses a look without layers, without heads, or with a pattern that does not fit its tokens. */
export function checkLook(where: string, { tokens, targetTokens, layers }: AttentionLook): void {
  checkSome(where, layers, "layers");
  for (const { layer, heads } of layers) {
    checkSome(`${where}, layer ${layer}`, heads, "heads");
    for (const { head, pattern } of heads)
      checkMatrix(`${where}, layer ${layer}, head ${head}`, pattern, { rows: targetTokens.length, columns: tokens.length });
  }
}

/** Refuses an empty list. */
export function checkSome(where: string, list: readonly unknown[], what: string): void {
  if (list.length === 0) throw new DataError(`${where}: no ${what}; there is nothing to draw`);
}
