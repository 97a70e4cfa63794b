import type { Matrix } from "./check.ts";

export interface Pooled {
  readonly rows: Matrix;
  /** One cell stands for a square of `side` × `side` numbers. */
  readonly side: number;
}

/** A matrix of at most so many columns and rows; a cell that stands for several shows the one farthest from zero. */
export function pooled(matrix: Matrix, mostColumns: number, mostRows = mostColumns): Pooled {
  const side = Math.ceil(Math.max(matrix.length / mostRows, matrix[0].length / mostColumns));
  if (side === 1) return { rows: matrix, side };
  const [height, width] = [Math.ceil(matrix.length / side), Math.ceil(matrix[0].length / side)];
  const rows = Array.from({ length: height }, () => new Array<number>(width).fill(0));
  matrix.forEach((row, i) => {
    row.forEach((value, j) => {
      const target = rows[Math.floor(i / side)];
      const place = Math.floor(j / side);
      if (Math.abs(value) > Math.abs(target[place])) target[place] = value;
    });
  });
  return { rows, side };
}
