import { checkMatrix, type Matrix } from "./check.ts";
import { cells, heat, legend, legendHeight } from "./heat.ts";
import { pooled } from "./pool.ts";
import { attentionScale } from "./scale.ts";
import { heading, headingWidth, sheet, text } from "./svg.ts";
import { columnLabels, rowLabels, tokenLabels, upright } from "./token-labels.ts";

export interface TokenMatrix {
  /** What each column stands for: keys, source. */
  readonly tokens: readonly string[];
  /** What each row stands for: queries, target. */
  readonly targetTokens: readonly string[];
  /** [row][column] */
  readonly pattern: Matrix;
  readonly title: string;
  readonly rowWord: string;
  readonly columnWord: string;
  /** What the numbers are. */
  readonly unit?: string;
}

/** The longer side gets about so many pixels, and no cell fewer than four. */
const room = 960;
const smallestCell = 4;
const largestCell = 30;
/** Up to so many tokens the numbers are written into the cells. */
const tokensWithNumbers = 10;
/** Up to so many cells each says its number when pointed at. */
const cellsWithHover = 1600;

/** Weights between tokens: rows down the side, columns along the top, each with its labels. */
export function tokenMatrix({ tokens, targetTokens, pattern, title, rowWord, columnWord, unit = "attention weight" }: TokenMatrix): string {
  checkMatrix(title, pattern, { rows: targetTokens.length, columns: tokens.length });
  const { rows, side } = pooled(pattern, room / smallestCell);
  const [columnNames, rowNames] = [tokens, targetTokens].map((names) => names.filter((_, i) => i % side === 0));
  const count = Math.max(columnNames.length, rowNames.length);
  const cell = count <= tokensWithNumbers ? 44 : Math.min(largestCell, Math.floor(room / count));

  const [columns, downs] = [tokenLabels(columnNames, cell), tokenLabels(rowNames, cell)];
  const left = 40 + downs.length;
  const top = 66 + (upright(columns, cell) ? columns.size : columns.length);
  const [mapWidth, mapHeight] = [cell * columnNames.length, cell * rowNames.length];
  const width = Math.max(left + mapWidth + 24, headingWidth(title), 300);
  const below = top + mapHeight;

  const scale = attentionScale([rows]);
  const box = { x: left, y: top, width: cell, height: cell };
  const name = (i: number, j: number) => `${downs.names[i]} → ${columns.names[j]}`;
  const note = side === 1 ? "" : `a square is the strongest weight of ${side} × ${side}`;
  return sheet(
    { width, height: below + 24 + legendHeight + (note ? 16 : 0), title: `${title}: ${targetTokens.length} × ${tokens.length} weights` },
    heading(title),
    text(`${columnWord} →`, { x: left, y: 48, size: 11, paint: "soft" }),
    text(`← ${rowWord}`, { x: 18, y: top, size: 11, paint: "soft", turn: -90, anchor: "end" }),
    rowLabels(downs, left - 8, top, cell),
    columnLabels(columns, left, top - 6, cell),
    rows.length * rows[0].length <= cellsWithHover ? cells(rows, scale, box, name) : heat(rows, scale, box),
    legend(scale, { x: left, y: below + 18, width: Math.min(180, Math.max(100, mapWidth)), unit }),
    note && text(note, { x: left, y: below + 70, size: 10, paint: "soft" }),
  );
}
