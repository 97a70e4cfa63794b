import { cellsOf } from "./label.ts";
import { element, group, heading, headingWidth, paint, seriesFill, sheet, text, textWidth } from "./svg.ts";

/** One side of a chart: where its values stand, and which of them are written. */
export interface Axis {
  readonly label: string;
  readonly ticks: readonly number[];
  /** The pixel of a value. */
  at(value: number): number;
  format(value: number): string;
}

export interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Values between low and high, on pixels from one to the other. */
export function linear(low: number, high: number, from: number, to: number): (value: number) => number {
  return (value) => from + ((value - low) / (high - low || 1)) * (to - from);
}

/** The same by powers. */
export function logarithmic(low: number, high: number, from: number, to: number): (value: number) => number {
  const inner = linear(Math.log(low), Math.log(high), from, to);
  return (value) => inner(Math.log(value));
}

/** Grid lines, the numbers beside them and what they count. */
export function axes({ x, y, width, height }: Area, across: Axis, up: Axis): string {
  const lines = [
    ...across.ticks.map((value) => `M${Math.round(across.at(value))} ${y}v${height}`),
    ...up.ticks.map((value) => `M${x} ${Math.round(up.at(value))}h${width}`),
  ];
  return group(
    {},
    element("path", { d: lines.join(""), fill: "none", ...paint("faint") }),
    element("path", { d: `M${x} ${y}v${height}h${width}`, fill: "none", ...paint("line") }),
    ...across.ticks.map((value) =>
      text(across.format(value), { x: across.at(value), y: y + height + 12, size: 10, paint: "soft", anchor: "middle" }),
    ),
    ...up.ticks.map((value) => text(up.format(value), { x: x - 7, y: up.at(value), size: 10, paint: "soft", anchor: "end" })),
    text(across.label, { x: x + width, y: y + height + 30, size: 11, paint: "soft", anchor: "end" }),
    text(up.label, { x, y: y - 12, size: 11, paint: "soft" }),
  );
}

export interface Chart {
  readonly area: Area;
  readonly title: string;
  readonly across: Axis;
  readonly up: Axis;
  /** What is drawn, for those who cannot see it; and what stands below the chart, each with its colour. */
  readonly series: readonly { readonly name: string; readonly label: string }[];
}

/** A whole picture: a title, axes, what is drawn in between, and the names of the series. */
export function chart({ area, title, across, up, series }: Chart, ...drawn: readonly string[]): string {
  const names = legend(
    area,
    series.map(({ label }) => label),
  );
  return sheet(
    {
      width: Math.max(area.x + area.width + 28, headingWidth(title), names.end),
      height: area.y + area.height + 66,
      title: `${title}: ${series.map(({ name }) => name).join(", ")}`,
    },
    heading(title),
    axes(area, across, up),
    ...drawn,
    names.drawn,
  );
}

/** The names of the series below a chart, each with its colour, and where they end. */
function legend({ x: from, y, height }: Area, labels: readonly string[]): { readonly drawn: string; readonly end: number } {
  let end = from;
  const drawn = labels.map((label, i) => {
    const x = end;
    end += 30 + textWidth(cellsOf(label), 11);
    return (
      element("rect", { x, y: y + height + 46, width: 12, height: 3, ...seriesFill(i) }) +
      text(label, { x: x + 17, y: y + height + 48, size: 11 })
    );
  });
  return { drawn: drawn.join("\n"), end };
}
