import { checkMatrix, type Matrix } from "./check.ts";
import { heat, legend, legendHeight } from "./heat.ts";
import { pooled } from "./pool.ts";
import { aroundZero } from "./scale.ts";
import { heading, headingWidth, sheet, text } from "./svg.ts";
import { linearTicks } from "./ticks.ts";

export interface PositionTable {
  /** [position][dimension] */
  readonly table: Matrix;
  readonly title?: string;
}

const room = 800;
const mostCells = 200;

/** The vectors of the positions: one row for each position, one column for each dimension. */
export function positionTable({ table, title = "Positions" }: PositionTable): string {
  checkMatrix(title, table);
  const { rows, side } = pooled(table, mostCells);
  const cell = Math.max(3, Math.min(16, Math.floor(room / Math.max(rows.length, rows[0].length))));
  const [left, top] = [64, 74];
  const [width, height] = [cell * rows[0].length, cell * rows.length];
  const scale = aroundZero([rows]);
  const at = (index: number) => (index / side + 0.5) * cell;
  const ticks = (count: number, length: number) => linearTicks(0, count - 1, Math.max(2, length / 60)).filter(Number.isInteger);
  const note = side === 1 ? "" : `; a square is the strongest of ${side} × ${side}`;
  return sheet(
    {
      width: Math.max(left + width + 24, headingWidth(title), 300),
      height: top + height + 24 + legendHeight,
      title: `${title}: ${table.length} positions × ${table[0].length} dimensions`,
    },
    heading(title),
    text(`dimension →${note}`, { x: left, y: 44, size: 11, paint: "soft" }),
    text("← position", { x: 18, y: top, size: 11, paint: "soft", turn: -90, anchor: "end" }),
    ...ticks(table[0].length, width).map((j) => text(`${j}`, { x: left + at(j), y: top - 10, size: 10, anchor: "middle" })),
    ...ticks(table.length, height).map((i) => text(`${i}`, { x: left - 8, y: top + at(i), size: 10, anchor: "end" })),
    heat(rows, scale, { x: left, y: top, width: cell, height: cell }),
    legend(scale, { x: left, y: top + height + 18, width: 180, unit: "value of a dimension" }),
  );
}
