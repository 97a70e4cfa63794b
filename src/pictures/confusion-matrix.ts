import { troubled } from "../metrics/confused.ts";
import { checkMatrix, type Matrix } from "./check.ts";
import { hex } from "./colour.ts";
import { legend, numberOn } from "./heat.ts";
import { figure, percent } from "./number.ts";
import { fromZero } from "./scale.ts";
import { element, group, heading, headingWidth, hover, paint, sheet, text, textWidth } from "./svg.ts";
import { columnLabels, rowLabels, tokenLabels, upright } from "./token-labels.ts";

export interface ConfusionMatrix {
  /** Names of the rows and columns. */
  readonly labels: readonly string[];
  /** How often the label of the row was taken for the label of the column. */
  readonly confusion: Matrix;
  readonly title?: string;
}

/** The longer side gets about so many pixels. */
const room = 720;
const largestCell = 56;
/** Cells of so many pixels have room for their number. */
const cellWithNumber = 24;
/** Of more labels, those with the most mistakes are drawn. */
const mostLabels = 60;

/** True labels down the side, found ones along the top; the colour is the share of the row, the number how often. */
export function confusionMatrix({ labels, confusion, title = "Confusion" }: ConfusionMatrix): string {
  checkMatrix(title, confusion, { rows: labels.length, columns: labels.length });
  const kept = troubled(confusion, mostLabels);
  const names = kept.map((i) => labels[i]);
  const cell = Math.max(12, Math.min(largestCell, Math.floor(room / names.length)));
  const [columns, downs] = [tokenLabels(names, cell), tokenLabels(names, cell)];
  const left = 44 + downs.length;
  const top = 70 + (upright(columns, cell) ? columns.size : columns.length);
  const side = cell * names.length;
  const below = top + side;
  const bar = Math.min(180, Math.max(100, side));
  const unit = "share of the true label";
  const note = kept.length < labels.length ? `the ${kept.length} of ${labels.length} labels with the most mistakes` : "";

  const scale = fromZero([[[0]]], 1);
  const cells = kept.flatMap((truth, i) => {
    const all = confusion[truth].reduce((a, b) => a + b, 0);
    return kept.map((found, j) => {
      const times = confusion[truth][found];
      if (times === 0) return ""; // most are, and the ground shows it
      const share = times / all;
      const [x, y] = [left + j * cell, top + i * cell];
      const said = `${downs.names[i]} taken for ${columns.names[j]}: ${times} of ${all} (${percent(share)})`;
      const square = element("rect", { x, y, width: cell, height: cell, fill: hex(scale.colour(share)) }, hover(said));
      if (cell < cellWithNumber) return square;
      return square + numberOn(scale.colour(share), figure(times), x + cell / 2, y + cell / 2, cell < 36 ? 9 : 12);
    });
  });
  return sheet(
    {
      width: Math.max(left + side + 24, left + bar + 24 + textWidth(unit.length, 10), headingWidth(title)),
      height: below + (note ? 82 : 62),
      title: `${title}: ${labels.length} labels`,
    },
    heading(title),
    text("found →", { x: left, y: 48, size: 11, paint: "soft" }),
    text("← true", { x: 18, y: top, size: 11, paint: "soft", turn: -90, anchor: "end" }),
    rowLabels(downs, left - 8, top, cell),
    columnLabels(columns, left, top - 6, cell),
    element("rect", { x: left, y: top, width: side, height: side, ...paint("blank") }),
    group({ "shape-rendering": "crispEdges" }, ...cells),
    legend(scale, { x: left, y: below + 18, width: bar }),
    text(unit, { x: left + bar + 10, y: below + 23, size: 10, paint: "soft" }),
    note && text(note, { x: left, y: below + 60, size: 10, paint: "soft" }),
  );
}
