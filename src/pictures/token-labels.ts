import { cellsOf, shortened } from "./label.ts";
import { text, textWidth } from "./svg.ts";

/** The names of rows or columns, cut to a length, as many of them as have room. */
export interface TokenLabels {
  readonly names: readonly string[];
  /** Of the letters; whole pixels, as what stands beside them must. */
  readonly size: number;
  /** Only every so many is written. */
  readonly every: number;
  /** How long the longest is, in pixels. */
  readonly length: number;
}

/** Labels for tokens that stand so many pixels apart. */
export function tokenLabels(tokens: readonly string[], pitch: number): TokenLabels {
  const size = Math.round(Math.min(12, Math.max(9, 0.8 * pitch)));
  const names = tokens.map((token) => shortened(token, tokens.length > 40 ? 10 : 16));
  const longest = names.reduce((most, name) => Math.max(most, cellsOf(name)), 0);
  return { names, size, every: Math.ceil((size + 1) / pitch), length: Math.ceil(textWidth(longest, size)) };
}

const shownNames = ({ names, every }: TokenLabels): (readonly [name: string, index: number])[] =>
  names.map((name, index) => [name, index] as const).filter(([, index]) => index % every === 0);

/** Down the side, ending at x. */
export const rowLabels = (labels: TokenLabels, x: number, y: number, pitch: number): string =>
  shownNames(labels)
    .map(([name, i]) => text(name, { x, y: y + (i + 0.5) * pitch, size: labels.size, anchor: "end" }))
    .join("");

/** Whether every label is as narrow as its column, so that none needs to be turned. */
export const upright = ({ length, every }: TokenLabels, pitch: number): boolean => length <= pitch * every;

/** Along the top, ending at y; turned to read upwards where they are long. */
export const columnLabels = (labels: TokenLabels, x: number, y: number, pitch: number): string =>
  shownNames(labels)
    .map(([name, j]) =>
      upright(labels, pitch)
        ? text(name, { x: x + (j + 0.5) * pitch, y: y - labels.size / 2, size: labels.size, anchor: "middle" })
        : text(name, { x: x + (j + 0.5) * pitch, y, size: labels.size, turn: -90 }),
    )
    .join("");
