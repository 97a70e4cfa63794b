import { cellsOf } from "./label.ts";
import { rounded } from "./number.ts";
import { type Attributes, element, group, heading, headingWidth, paint, seriesFill, sheet, text, textWidth } from "./svg.ts";

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
  /** What is drawn, for those who cannot see it; each is named, in its colour, where its line ends. */
  readonly series: readonly ChartSeries[];
}

export interface ChartSeries {
  readonly name: string;
  readonly label: string;
  /** Where its line ends; a line without points ends nowhere, and is named at the bottom. */
  readonly end?: { readonly x: number; readonly y: number };
}

/** A whole picture: a title, axes, what is drawn in between, and the names of the series. */
export function chart({ area, title, across, up, series }: Chart, ...drawn: readonly string[]): string {
  const longest = Math.max(...series.map(({ label }) => cellsOf(label)));
  return sheet(
    {
      width: Math.max(area.x + area.width + 50 + textWidth(longest, 11), headingWidth(title)),
      height: area.y + area.height + 44,
      title: `${title}: ${series.map(({ name }) => name).join(", ")}`,
    },
    heading(title),
    axes(area, across, up),
    ...drawn,
    ...endLabels(area, series),
  );
}

/** As high as a label of a line. */
const labelPitch = 15;

/** The names of lines to the right of them, as near to their ends as they can be without standing on each other. */
function endLabels({ x, y, width, height }: Area, series: readonly ChartSeries[]): string[] {
  const right = x + width;
  const order = series.map(({ label, end = { x: right, y: y + height } }, index) => ({ label, end, index }));
  order.sort((a, b) => a.end.y - b.end.y || a.index - b.index);
  const places = spread(
    order.map(({ end }) => end.y),
    y,
    y + height,
  );
  return order.map(({ label, end, index }, i) => {
    const place = places[i];
    const isFar = Math.abs(place - end.y) > 3 || end.x < right - 3;
    const leader = `M${rounded(end.x + 5)} ${rounded(end.y)}L${rounded(right + 6)} ${rounded(place)}h8`;
    return (
      (isFar ? element("path", { d: leader, fill: "none", ...paint("faint") }) : "") +
      element("rect", { x: right + 14, y: place - 1.5, width: 12, height: 3, ...seriesFill(index) }) +
      text(label, { x: right + 31, y: place, size: 11 })
    );
  });
}

/** Heights in rising order, moved apart until no two are nearer than a label, from the top on and back from the bottom. */
function spread(wanted: readonly number[], from: number, to: number): number[] {
  const down: number[] = [];
  for (const place of wanted) down.push(Math.max(place, from, (down.at(-1) ?? Number.NEGATIVE_INFINITY) + labelPitch));
  const up: number[] = [];
  for (const place of down.reverse()) up.push(Math.min(place, to, (up.at(-1) ?? Number.POSITIVE_INFINITY) - labelPitch));
  return up.reverse();
}

/** Dashes for a line that another one lies under for half of its way, so that both can be seen. */
export function dashes(points: readonly Spot[], before: readonly (readonly Spot[])[]): Attributes {
  const near = (a: Spot, b: Spot) => Math.abs(a.x - b.x) < 1 && Math.abs(a.y - b.y) < 2.5;
  const hides = (other: readonly Spot[]) => 2 * points.filter((a) => other.some((b) => near(a, b))).length >= points.length;
  const under = before.filter((other) => points.length > 1 && hides(other)).length;
  return under === 0 ? {} : { "stroke-dasharray": `${Math.max(3, 8 - 2 * under)} ${6 + 4 * under}` };
}

export interface Spot {
  readonly x: number;
  readonly y: number;
}
