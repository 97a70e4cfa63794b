import { heat, legend, legendHeight } from "../../../src/pictures/heat.ts";
import type { Scale } from "../../../src/pictures/scale.ts";
import { heading, headingWidth, sheet, text } from "../../../src/pictures/svg.ts";
import { columnLabels, rowLabels, tokenLabels, upright } from "../../../src/pictures/token-labels.ts";
import { type Plane, rowOf } from "./numbers.ts";

export interface PlanePicture {
  readonly plane: Plane;
  readonly scale: Scale;
  readonly title: string;
  readonly rowNames?: readonly string[];
  readonly columnNames?: readonly string[];
  /** What the numbers are. */
  readonly unit?: string;
}

/** A plane of numbers as an SVG, to keep. */
export function planePicture({ plane, scale, title, rowNames = [], columnNames = [], unit }: PlanePicture): string {
  const [cell, row] = [Math.max(3, Math.min(24, 900 / plane.columns)), plane.rows > 100 ? 8 : 20];
  const [downs, across] = [tokenLabels(rowNames, row), tokenLabels(columnNames, cell)];
  const [left, top] = [24 + downs.length, 60 + (columnNames.length === 0 ? 0 : upright(across, cell) ? across.size : across.length)];
  const rows = Array.from({ length: plane.rows }, (_, i) => Array.from(rowOf(plane, i)));
  const below = top + plane.rows * row;
  return sheet(
    { width: Math.max(left + plane.columns * cell + 24, headingWidth(title), 300), height: below + 24 + legendHeight, title },
    heading(title),
    text(`${plane.columnAxis} →`, { x: left, y: 44, size: 11, paint: "soft" }),
    rowLabels(downs, left - 8, top, row),
    columnLabels(across, left, top - 6, cell),
    heat(rows, scale, { x: left, y: top, width: cell, height: row }),
    legend(scale, { x: left, y: below + 18, width: 160, ...(unit && { unit }) }),
  );
}
