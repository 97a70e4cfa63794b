import { DataError } from "../base/errors.ts";
import { type Area, type Axis, axes, logarithmic } from "./chart.ts";
import { checkNumbers, checkSome } from "./check.ts";
import type { Place } from "./hull.ts";
import { cellsOf, prose } from "./label.ts";
import { labelPlaces, type Rectangle } from "./label-places.ts";
import { figure, percent, rounded } from "./number.ts";
import { element, group, heading, headingWidth, hover, paint, seriesFill, seriesStroke, sheet, text, textWidth } from "./svg.ts";
import { logTicks } from "./ticks.ts";

export interface RooflinePoint {
  readonly name: string;
  readonly flops: number;
  readonly bytes: number;
  /** How long it took; without it the point stands on the roof, as the best that is possible. */
  readonly seconds?: number;
}

export interface Roofline {
  /** The most floating-point operations a second. */
  readonly peakFlops: number;
  /** The most bytes a second. */
  readonly peakBytes: number;
  readonly points: readonly RooflinePoint[];
  readonly title?: string;
}

const area: Area = { x: 76, y: 66, width: 680, height: 360 };

/** What is reached, by arithmetic intensity, under the two roofs: memory (slanted) and arithmetic (flat). Both axes by powers. */
export function roofline({ peakFlops, peakBytes, points, title = "Roofline" }: Roofline): string {
  checkSome(title, points, "points");
  checkNumbers(`${title}, peaks`, [peakFlops, peakBytes]);
  if (peakFlops <= 0 || peakBytes <= 0)
    throw new DataError(`${title}: peaks of ${peakFlops} FLOP/s and ${peakBytes} bytes/s, wanted numbers above 0`);
  for (const { name, flops, bytes, seconds = 1 } of points) checkNumbers(`${title}, ${name}`, [flops, bytes, seconds]);
  // What computes nothing, or takes no time, has no place on axes by powers.
  const drawn = points.filter(({ flops, bytes, seconds = 1 }) => flops > 0 && bytes > 0 && seconds > 0);
  const roof = (intensity: number) => Math.min(peakFlops, intensity * peakBytes);
  const placed = drawn.map((point) => {
    const intensity = point.flops / point.bytes;
    return { ...point, intensity, reached: point.seconds === undefined ? roof(intensity) : point.flops / point.seconds };
  });

  const ridge = peakFlops / peakBytes;
  const [left, right] = around([ridge / 30, ridge * 30, ...placed.map(({ intensity }) => intensity)]);
  const [bottom, top] = around([peakFlops / 100, peakFlops * 1.5, ...placed.map(({ reached }) => reached)]);
  const across = axis("arithmetic intensity (FLOP/byte) →", left, right, area.x, area.x + area.width);
  const up = axis("speed (FLOP/s)", bottom, top, area.y + area.height, area.y);
  const start = Math.max(left, bottom / peakBytes);
  const line = [
    [start, roof(start)],
    [ridge, peakFlops],
    [right, peakFlops],
  ].map(([x, y]) => ({ x: across.at(x), y: up.at(y) }));

  const names = placed.map(({ name }) => prose(name, 28));
  const spots = placed.map(({ intensity, reached }) => ({ x: across.at(intensity), y: up.at(reached) }));
  const room = { ...area, width: area.width + 60 };
  const places = labelPlaces(
    spots.map((spot, i) => ({ ...spot, width: textWidth(cellsOf(names[i]), 10) + 4, height: 13 })),
    room,
    stripe(line),
  );
  const marks = placed.map(({ reached, intensity, seconds }, i) => {
    const words = `${names[i]}: ${figure(reached)}FLOP/s at ${figure(intensity)} FLOP/byte, ${percent(reached / roof(intensity))} of the roof`;
    const look = seconds === undefined ? { "fill-opacity": 0, "stroke-width": 2, ...seriesStroke(0) } : seriesFill(0);
    return group({}, hover(words), element("circle", { cx: spots[i].x, cy: spots[i].y, r: 4.5, ...look }));
  });
  const labels = places.map((place, i) => {
    if (place === undefined) return "";
    const near = nearest(place, spots[i]);
    const far = Math.hypot(near.x - spots[i].x, near.y - spots[i].y) > 8;
    const leader = `M${rounded(spots[i].x)} ${rounded(spots[i].y)}L${rounded(near.x)} ${rounded(near.y)}`;
    return (
      (far ? element("path", { d: leader, fill: "none", ...paint("line") }) : "") +
      text(names[i], { x: place.x + 2, y: place.y + place.height / 2, size: 10 })
    );
  });
  const leftOut = points.length - drawn.length;
  const notes = [
    `roofs: ${figure(peakFlops)}FLOP/s and ${figure(peakBytes)}byte/s, meeting at ${figure(ridge)} FLOP/byte`,
    ...(placed.some(({ seconds }) => seconds === undefined) ? ["rings: not measured, the best possible"] : []),
    ...(leftOut > 0 ? [`${leftOut} without arithmetic not shown`] : []),
  ];
  return sheet(
    {
      width: Math.max(room.x + room.width + 12, headingWidth(title)),
      height: area.y + area.height + 68,
      title: `${title}: ${drawn.length} operations`,
    },
    heading(title),
    axes(area, across, up),
    element("path", {
      d: `M${line.map(({ x, y }) => `${rounded(x)} ${rounded(y)}`).join("L")}`,
      fill: "none",
      "stroke-width": 2,
      "stroke-linejoin": "round",
      ...seriesStroke(1),
    }),
    ...labels,
    ...marks,
    text(notes.join(" · "), { x: area.x, y: area.y + area.height + 52, size: 11, paint: "soft" }),
  );
}

function axis(label: string, low: number, high: number, from: number, to: number): Axis {
  return { label, ticks: logTicks(low, high, 9), at: logarithmic(low, high, from, to), format: figure };
}

/** Where a line from a point meets a label: a corner or an edge, never a letter. */
const nearest = ({ x, y, width, height }: Rectangle, spot: Place): Place => ({
  x: Math.min(x + width, Math.max(x, spot.x)),
  y: Math.min(y + height, Math.max(y, spot.y)),
});

/** Round numbers around some others. */
function around(values: readonly number[]): [low: number, high: number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [under, over] = [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
  return [under * ([5, 2].find((factor) => factor * under <= low) ?? 1), over * ([0.2, 0.5].find((factor) => factor * over >= high) ?? 1)];
}

/** Small squares along a line, where no label should stand. */
function stripe(line: readonly Place[]): Rectangle[] {
  return line.slice(1).flatMap((end, i) => {
    const start = line[i];
    const count = Math.ceil(Math.hypot(end.x - start.x, end.y - start.y) / 4);
    return Array.from({ length: count + 1 }, (_, k) => {
      const share = k / count;
      return { x: start.x + share * (end.x - start.x) - 3, y: start.y + share * (end.y - start.y) - 3, width: 6, height: 6 };
    });
  });
}
