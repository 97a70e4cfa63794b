import { columnOf, type Pattern, rowOf, strengthOf, strongest } from "./pattern.ts";
import type { Spot } from "./state.ts";

// The lines of the head view, on a canvas, only where they can be seen.

/** Of a token, as the style sheets have it. */
export const rowHeight = 20;
/** Lines that nobody asked for: the strongest of each query. */
const linesWithoutChoice = 3;
/** Weaker than this share of the strongest is not drawn. */
const faintest = 0.03;

export type Side = "query" | "key";

/** Where lines are drawn: a canvas that shows a part of two columns of tokens. */
export interface Sheet {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  /** How far the columns are scrolled. */
  readonly top: number;
  /** Where the gap between the columns begins and ends. */
  readonly left: number;
  readonly right: number;
  readonly colours: { readonly line: string; readonly below: string };
}

/** Lines from queries to keys, those that belong to a spot, or else the strongest of every query; and a bar behind each token that they lead to. */
export function drawLines(sheet: Sheet, pattern: Pattern, { query, key }: Spot): void {
  if (query !== undefined) {
    const weights = rowOf(pattern, query);
    weights.forEach((weight, other) => {
      fan(pattern, sheet, query, other, weight, key === undefined || key === other ? 1 : 0.3, key === other ? 0.5 : 0);
      glow(pattern, sheet, "key", other, weight);
    });
  } else if (key !== undefined) {
    columnOf(pattern, key).forEach((weight, other) => {
      fan(pattern, sheet, other, key, weight);
      glow(pattern, sheet, "query", other, weight);
    });
  } else drawStrongest(pattern, sheet);
}

/** Of every query that can be seen, and of some around. */
function drawStrongest(pattern: Pattern, sheet: Sheet): void {
  const first = Math.max(0, Math.floor(sheet.top / rowHeight) - 40);
  const last = Math.min(pattern.queries, Math.ceil((sheet.top + sheet.height) / rowHeight) + 40);
  for (let query = first; query < last; query++) {
    const weights = rowOf(pattern, query);
    for (const key of strongest(weights, linesWithoutChoice)) fan(pattern, sheet, query, key, weights[key], 0.75);
  }
}

const middleOf = (index: number, { top }: Sheet): number => (index + 0.5) * rowHeight - top;

function fan(pattern: Pattern, sheet: Sheet, query: number, key: number, weight: number, opacity = 1, least = 0): void {
  const strength = Math.max(least, strengthOf(pattern, weight));
  if (strength < faintest) return;
  const [from, to] = [middleOf(query, sheet), middleOf(key, sheet)];
  if (Math.max(from, to) < 0 || Math.min(from, to) > sheet.height) return;
  const { context, left, right, colours } = sheet;
  const bend = 0.45 * (right - left);
  context.globalAlpha = opacity * Math.min(1, 0.08 + 0.92 * strength);
  context.strokeStyle = weight < 0 ? colours.below : colours.line;
  context.lineWidth = 0.75 + 2.5 * strength;
  context.beginPath();
  context.moveTo(left, from);
  context.bezierCurveTo(left + bend, from, right - bend, to, right, to);
  context.stroke();
  context.globalAlpha = 1;
}

/** A bar behind a token, as strong as its weight. */
function glow(pattern: Pattern, sheet: Sheet, side: Side, index: number, weight: number): void {
  const middle = middleOf(index, sheet);
  if (weight === 0 || middle < -rowHeight || middle > sheet.height + rowHeight) return;
  const { context, left, right, width, colours } = sheet;
  context.globalAlpha = 0.55 * strengthOf(pattern, weight);
  context.fillStyle = weight < 0 ? colours.below : colours.line;
  if (side === "query") context.fillRect(0, middle - rowHeight / 2 + 1, left, rowHeight - 2);
  else context.fillRect(right, middle - rowHeight / 2 + 1, width - right, rowHeight - 2);
  context.globalAlpha = 1;
}
