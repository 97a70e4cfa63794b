import type { Matrix } from "./check.ts";
import { hex, inkOn, type Rgb } from "./colour.ts";
import { decimal, decimalsFor, rounded } from "./number.ts";
import { levelColour, levels, type Scale } from "./scale.ts";
import { element, group, hover, paint, text } from "./svg.ts";

export interface Box {
  readonly x: number;
  readonly y: number;
  /** The size of a cell. */
  readonly width: number;
  readonly height: number;
}

/** A weight of exactly zero is left blank: it was masked, or as good as that. */
const isBlank = (scale: Scale, value: number): boolean => scale.table === "sequential" && scale.low === 0 && value === 0;

const ground = (matrix: Matrix, { x, y, width, height }: Box): string =>
  element("rect", { x, y, width: width * matrix[0].length, height: height * matrix.length, ...paint("blank") });

/** A matrix as coloured cells. Cells of one colour are one path, so that forty thousand of them are still a small file. */
export function heat(matrix: Matrix, scale: Scale, box: Box): string {
  const paths = Array.from({ length: levels }, () => [] as string[]);
  const level = (value: number) => (isBlank(scale, value) ? -1 : Math.round(scale.at(value) * (levels - 1)));
  matrix.forEach((row, i) => {
    let start = 0;
    for (let j = 1; j <= row.length; j++) {
      if (j < row.length && level(row[j]) === level(row[start])) continue;
      if (level(row[start]) >= 0) paths[level(row[start])].push(`M${start} ${i}h${j - start}v1h-${j - start}z`);
      start = j;
    }
  });
  const transform = `translate(${rounded(box.x)} ${rounded(box.y)}) scale(${rounded(box.width)} ${rounded(box.height)})`;
  const drawn = paths.map((d, i) => (d.length === 0 ? "" : element("path", { fill: hex(levelColour(scale.table, i)), d: d.join("") })));
  return ground(matrix, box) + group({ transform, "shape-rendering": "crispEdges" }, ...drawn);
}

/** The same with an element for each cell, which says its number when pointed at; with room for it, the number is written out. */
export function cells(matrix: Matrix, scale: Scale, box: Box, name: (row: number, column: number) => string): string {
  const written = box.width >= 40;
  const decimals = decimalsFor(scale.high);
  const drawn = matrix.flatMap((row, i) =>
    row.map((value, j) => {
      const [x, y] = [box.x + j * box.width, box.y + i * box.height];
      const blank = isBlank(scale, value);
      const colour = scale.colour(value);
      const look = blank ? paint("blank") : { fill: hex(colour) };
      const square = element(
        "rect",
        { x, y, width: box.width, height: box.height, ...look },
        hover(`${name(i, j)}: ${decimal(value, decimals + 1)}`),
      );
      if (!written || blank) return square;
      return square + numberOn(colour, decimal(value, decimals), x + box.width / 2, y + box.height / 2, 12);
    }),
  );
  return group({ "shape-rendering": "crispEdges" }, ...drawn);
}

/** A number in the middle of a coloured cell, in the ink that shows on it. */
export function numberOn(colour: Rgb, number: string, x: number, y: number, size: number): string {
  const look = { "font-size": size, "text-anchor": "middle", fill: inkOn(colour), "pointer-events": "none" };
  return element("text", { x, y: y + 0.36 * size, ...look }, number);
}

export interface LegendPlace {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  /** What the numbers are: `attention weight`. */
  readonly unit?: string;
}

/** How high a legend is. */
export const legendHeight = 42;

/** A bar of the scale's colours with its ends and its middle in numbers, and what they are. */
export function legend(scale: Scale, { x, y, width, unit }: LegendPlace): string {
  const decimals = decimalsFor(scale.high);
  const mark = (place: number) =>
    text(`${place === 1 && scale.open ? "≥ " : ""}${decimal(scale.value(place), decimals)}`, {
      x: x + place * width,
      y: y + 20,
      size: 10,
      paint: "soft",
      anchor: place === 0 ? "start" : place === 1 ? "end" : "middle",
    });
  return (
    bar(scale, { x, y, width }) +
    [0, 0.5, 1].map(mark).join("") +
    (unit ? text(unitOf(scale, unit), { x, y: y + 35, size: 10, paint: "soft" }) : "")
  );
}

/** What the numbers of a scale are, and how they are spread over it. */
export const unitOf = ({ steps }: Scale, unit: string): string => (steps === "root" ? `${unit} (square-root scale)` : unit);

/** The colours of a scale side by side. */
export function bar({ table }: Scale, { x, y, width }: Pick<LegendPlace, "x" | "y" | "width">): string {
  const pieces = Array.from({ length: levels }, (_, i) => {
    const [from, to] = [Math.round((i * width) / levels), Math.round(((i + 1) * width) / levels)];
    return element("rect", { x: x + from, y, width: to - from, height: 10, fill: hex(levelColour(table, i)) });
  });
  return group({ "shape-rendering": "crispEdges" }, ...pieces);
}
