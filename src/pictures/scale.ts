import type { Matrix } from "./check.ts";
import { type ColourTable, colourAt, type Rgb } from "./colour.ts";

/** How numbers become colours. */
export interface Scale {
  readonly table: ColourTable;
  readonly low: number;
  readonly high: number;
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
function scale(table: ColourTable, low: number, high: number, steps: "equal" | "root" = "equal"): Scale {
  const range = high - low || 1;
  const at = (value: number) => {
    const place = Math.min(1, Math.max(0, (value - low) / range));
    return steps === "root" ? Math.sqrt(place) : place;
  };
  const value = (place: number) => low + range * (steps === "root" ? place * place : place);
  return { table, low, high, at, value, colour: (number) => colourAt(table, at(number)) };
}

/**
 * Attention weights. Zero to the highest weight; by the square root where there are many keys, as most weights are small
 * then. Weights below zero, which attention without a softmax has, make it a scale around zero.
 */
export function attentionScale(patterns: readonly Matrix[]): Scale {
  const { low, high } = extent(patterns);
  if (low < 0) return aroundZero(patterns);
  const many = patterns.some((pattern) => pattern[0].length > 32);
  return scale("sequential", 0, high > 0 ? high : 1, many ? "root" : "equal");
}

/** Equal steps to both sides of zero. */
export function aroundZero(matrices: readonly Matrix[]): Scale {
  const { low, high } = extent(matrices);
  const reach = Math.max(-low, high) || 1;
  return scale("diverging", -reach, reach);
}

/** From zero, or from the lowest number if that is below it, to the highest or to a given end. */
export function fromZero(matrices: readonly Matrix[], end?: number): Scale {
  const { low, high } = extent(matrices);
  return scale("sequential", Math.min(0, low), Math.max(high, end ?? high));
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
