import type { Activation } from "../../../src/inspection/observe.ts";

// The numbers of a place: a plane of them to draw, a row to read, and what they are like.

export interface Plane {
  readonly rows: number;
  readonly columns: number;
  readonly rowAxis: string;
  readonly columnAxis: string;
  /** Row after row. */
  readonly data: Float32Array;
}

/** What can be drawn: of several heads, one. `heads` is how many of queries there are, where keys are shared among them. */
export function planeOf({ axes, shape, data }: Activation, head: number, heads = shape[0]): Plane {
  const [rows, columns] = shape.length === 1 ? [1, shape[0]] : shape.slice(-2);
  const [rowAxis, columnAxis] = shape.length === 1 ? ["", axes[0]] : axes.slice(-2);
  const planes = Math.max(1, data.length / (rows * columns));
  const at = planes === 1 ? 0 : Math.min(planes - 1, Math.floor((head * planes) / Math.max(1, heads)));
  return { rows, columns, rowAxis, columnAxis, data: data.subarray(at * rows * columns, (at + 1) * rows * columns) };
}

export const rowOf = ({ columns, data }: Plane, row: number): Float32Array => data.subarray(row * columns, (row + 1) * columns);

export interface Summary {
  readonly least: number;
  readonly mean: number;
  readonly most: number;
  /** √Σx² */
  readonly norm: number;
}

export function summaryOf(data: Float32Array): Summary {
  let [least, most, sum, squares] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
  for (const value of data) {
    if (value < least) least = value;
    if (value > most) most = value;
    sum += value;
    squares += value * value;
  }
  return { least, most, mean: sum / data.length, norm: Math.sqrt(squares) };
}

/** How many numbers are in each of equally wide steps from the least to the most. */
export function histogramOf(data: Float32Array, { least, most }: Pick<Summary, "least" | "most">, steps: number): number[] {
  const counts = new Array<number>(steps).fill(0);
  const width = (most - least) / steps || 1;
  for (const value of data) counts[Math.min(steps - 1, Math.max(0, Math.floor((value - least) / width)))]++;
  return counts;
}

/** The places of the numbers that are farthest from 0, the farthest first. */
export const farthest = (row: Float32Array, count: number): number[] =>
  [...row.keys()].sort((a, b) => Math.abs(row[b]) - Math.abs(row[a]) || a - b).slice(0, count);

/** `[time=12, width=64]`; of one head out of many, how many there are. */
export const shapeText = ({ axes, shape }: Pick<Activation, "axes" | "shape">, heads = 1): string =>
  `[${shape.map((size, i) => `${axes[i]}=${axes[i] === "head" && size === 1 ? heads : size}`).join(", ")}]`;
