import { colourAt } from "../src/pictures/colour.ts";
import { decimal } from "../src/pictures/number.ts";
import { columnOf, type Pattern, rowOf, strongest } from "./pattern.ts";
import type { Spot } from "./state.ts";

// How a query and a key make a score, dimension by dimension: q × k.

const keysShown = 6;
const dimensionsNamed = 4;

export interface Vectors {
  readonly size: number;
  /** The score is this times q·k. */
  readonly scale: number;
  /** [position][dimension], one row after the other. */
  readonly q: Float32Array;
  readonly k: Float32Array;
}

export interface Products {
  readonly query: number;
  /** Those with most weight, the one that is pointed at first. */
  readonly keys: readonly number[];
  readonly own: Float32Array;
  /** For each key, q × k by dimension. */
  readonly products: readonly Float32Array[];
  readonly scores: readonly number[];
  /** The largest size of a number: for the ends of the colours. */
  readonly reach: { readonly vectors: number; readonly products: number };
}

export const keyOf = ({ size, k }: Vectors, key: number): Float32Array => k.subarray(key * size, (key + 1) * size);

export function productsOf(pattern: Pattern, vectors: Vectors, spot: Spot): Products {
  const { size, scale, q } = vectors;
  const query = spot.query ?? strongest(columnOf(pattern, spot.key ?? 0), 1)[0] ?? 0;
  const others = strongest(rowOf(pattern, query), keysShown).filter((key) => key !== spot.key);
  const keys = spot.key === undefined ? others : [spot.key, ...others.slice(0, keysShown - 1)];
  const own = q.subarray(query * size, (query + 1) * size);
  const products = keys.map((key) => {
    const other = keyOf(vectors, key);
    return own.map((value, i) => value * other[i]);
  });
  return {
    query,
    keys,
    own,
    products,
    scores: products.map((product) => scale * product.reduce((sum, value) => sum + value, 0)),
    reach: {
      vectors: Math.max(largest(own), ...keys.map((key) => largest(keyOf(vectors, key)))),
      products: Math.max(...products.map(largest), 1e-9),
    },
  };
}

const largest = (values: Float32Array): number => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

export const strongestDimensions = (products: Float32Array): string =>
  `most from dimensions ${strongest(products, dimensionsNamed)
    .map((dimension) => `${dimension} (${products[dimension] > 0 ? "+" : "−"}${decimal(Math.abs(products[dimension]))})`)
    .join(", ")}`;

/** Numbers as colours side by side: blue below zero, orange above. */
export function stripOf(values: Float32Array, reach: number): ImageData {
  const image = new ImageData(values.length, 1);
  for (const [i, value] of values.entries()) image.data.set([...colourAt("diverging", 0.5 + value / (2 * (reach || 1))), 255], 4 * i);
  return image;
}
