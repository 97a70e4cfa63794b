import type { Matrix } from "./check.ts";
import { type ColourTable, colourAt, type Rgb } from "./colour.ts";

export type Steps = "equal" | "root";

/** How numbers become colours. */
export interface Scale {
  readonly table: ColourTable;
  readonly low: number;
  readonly high: number;
  /** Equal steps, or by the square root, which shows small values beside large ones. */
  readonly steps: Steps;
  /** Whether there are values above `high`, which have its colour. */
  readonly open: boolean;
  /** The place of a value between 0 and 1. */
  at(value: number): number;
  /** The value at a place between 0 and 1. */
  value(place: number): number;
  colour(value: number): Rgb;
}

/** Colours come in so many steps: more cannot be seen, and equal ones are drawn together. */
export const levels = 64;

export const levelColour = (table: ColourTable, level: number): Rgb => colourAt(table, level / (levels - 1));

/** Between two values, in equal steps or, for many small values, by the square root. */
export function scaleOf(table: ColourTable, low: number, high: number, steps: Steps = "equal", open = false): Scale {
  const range = high - low || 1;
  const at = (value: number) => {
    const place = Math.min(1, Math.max(0, (value - low) / range));
    return steps === "root" ? Math.sqrt(place) : place;
  };
  const value = (place: number) => low + range * (steps === "root" ? place * place : place);
  return { table, low, high, steps, open, at, value, colour: (number) => colourAt(table, at(number)) };
}

/** A first token that takes everything may take no more than three quarters of the scale. */
const leastOfHighest = 0.25;

/**
 * Attention weights, from zero to the highest of them by the square root, as most weights are small. Where no query sees a later key, the
 * first key does not count for the highest, as queries rest there that look for nothing, nor do the first queries, which have few keys to
 * share their weight among. Weights below zero, which attention without a softmax has, make it a scale around zero.
 */
export function attentionScale(patterns: readonly Matrix[]): Scale {
  const { low, high } = extent(patterns);
  if (low < 0) return aroundZero(patterns);
  if (!(high > 0)) return scaleOf("sequential", 0, 1, "root");
  const later = patterns.map((pattern) =>
    isCausal(pattern) ? pattern.slice(firstCounted(pattern.length)).map((row) => row.slice(1)) : pattern,
  );
  const end = Math.max(extent(later).high, leastOfHighest * high);
  return scaleOf("sequential", 0, end, "root", end < high);
}

/** The first of so many queries that counts for the highest weight of a causal map. */
export const firstCounted = (queries: number): number => Math.floor(queries / 8);

/** Whether no query sees a later key, and there are some. */
export const isCausal = (pattern: Matrix): boolean =>
  pattern.length > 1 &&
  pattern.length === pattern[0].length &&
  pattern.every((row, query) => row.every((p, key) => key <= query || p === 0));

/** Equal steps to both sides of zero. */
export function aroundZero(matrices: readonly Matrix[]): Scale {
  const { low, high } = extent(matrices);
  const reach = Math.max(-low, high) || 1;
  return scaleOf("diverging", -reach, reach);
}

/** From zero, or from the lowest number if that is below it, to the highest or to a given end. */
export function fromZero(matrices: readonly Matrix[], end?: number): Scale {
  const { low, high } = extent(matrices);
  return scaleOf("sequential", Math.min(0, low), Math.max(high, end ?? high));
}

function extent(matrices: readonly Matrix[]): { low: number; high: number } {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const matrix of matrices)
    for (const row of matrix)
      for (const value of row) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
  return { low, high };
}
