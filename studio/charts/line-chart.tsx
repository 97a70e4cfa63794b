import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { digits } from "../parts/numbers.ts";
import { colourOf, theme } from "../parts/theme.ts";
import type { Series } from "../stores/series.ts";
import { type Axis, axisOf } from "./axis.ts";
import { endPlaces } from "./end-labels.ts";
import { pathOf } from "./thinned.ts";

// Lines over steps, on a canvas: twenty runs of ten thousand points are drawn in a few milliseconds, since of all points that fall on one
// column of the screen only the first, the last, the highest and the lowest can be seen. What is pointed at is drawn on a second canvas above
// it, so that pointing draws no line again.

export interface Line {
  readonly name: string;
  readonly series: Series;
  readonly colour: string;
  /** Drawn through, or only hinted at behind a smoother one. */
  readonly weight?: "full" | "faint" | "dots";
  /** Lengths of dashes and gaps, where there are more lines than colours. */
  readonly dash?: readonly number[];
}

export interface LineChartProps {
  readonly label: string;
  readonly lines: readonly Line[];
  readonly height?: number;
  readonly scale?: "linear" | "log";
  /** Whatever changes when the lines have new points. */
  readonly version?: number;
  /** The whole way, also where nothing was drawn yet: so nothing moves sideways while it goes on. */
  readonly until?: number;
  /** Whether each line has its name at its end. */
  readonly names?: "at-ends" | "none";
}

const margins = { left: 48, right: 12, top: 8, bottom: 24 };
const nameRoom = 132;

/** Where everything stands. */
interface Layout {
  readonly width: number;
  readonly height: number;
  readonly right: number;
  readonly xs: Axis;
  readonly ys: Axis;
  x(step: number): number;
  y(value: number): number;
}

export function LineChart(props: LineChartProps) {
  const { label, lines, height = 220, scale = "linear", version, until, names = "none" } = props;
  const own = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<number>();
  useEffect(() => {
    const element = own.current;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const layout = useMemo(
    () => layoutOf(lines, { width, height, scale, until, names: width > 480 ? names : "none" }),
    [lines, version, width, height, scale, until, names],
  );
  const colours = theme.value; // drawn again when it changes
  useEffect(() => {
    const context = cleared(own.current, width, height);
    if (!context) return;
    drawAxes(context, layout);
    for (const line of lines) drawLine(context, line, layout);
    if (layout.right > margins.right) drawNames(context, lines, layout);
  }, [layout, version, colours]);
  useEffect(() => {
    const context = cleared(above.current, width, height);
    if (context && at !== undefined) drawPointed(context, lines, layout, at);
  }, [layout, at, colours]);
  const stepAt = (place: number) => Math.round(layout.xs.value((place - margins.left) / Math.max(1, width - margins.left - layout.right)));
  const last = lines.reduce((most, { series }) => Math.max(most, series.steps.at(-1) ?? 0), 0);
  const walk = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    setAt(Math.min(last, Math.max(0, (at ?? last) + by * Math.max(1, Math.round(last / 100)))));
  };
  const words = told(lines, at ?? last);
  return (
    <div class="chart">
      <div
        role="slider"
        aria-label={label}
        aria-orientation="horizontal"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at ?? last}
        aria-valuetext={words}
        tabIndex={0}
        onPointerMove={(event) => setAt(Math.min(last, Math.max(0, stepAt(event.offsetX))))}
        onPointerLeave={() => setAt(undefined)}
        onKeyDown={walk}
        onBlur={() => setAt(undefined)}
      >
        <canvas ref={own} style={{ height: `${height}px` }} />
        <canvas ref={above} class="above" style={{ height: `${height}px` }} />
      </div>
      <div class="readout" aria-live="off">
        {at !== undefined && words}
      </div>
    </div>
  );
}

type Wanted = Required<Pick<LineChartProps, "height" | "scale" | "names">> & Pick<LineChartProps, "until"> & { readonly width: number };

function layoutOf(lines: readonly Line[], { width, height, scale, until, names }: Wanted): Layout {
  const ends = lines.flatMap(({ series: { steps } }) => (steps.length ? [steps[0], steps[steps.length - 1]] : []));
  const right = names === "at-ends" ? nameRoom : margins.right;
  const xs = axisOf([0, until ?? 0, ...ends], "linear");
  const ys = axisOf(rangeOf(lines, scale), scale, Math.max(2, Math.min(6, Math.floor(height / 40))));
  return {
    width,
    height,
    right,
    xs,
    ys,
    x: (step) => margins.left + xs.place(step) * Math.max(1, width - margins.left - right),
    y: (value) => height - margins.bottom - ys.place(value) * (height - margins.top - margins.bottom),
  };
}

/** An empty canvas of this size, in the pixels of the screen. */
function cleared(element: HTMLCanvasElement | null, width: number, height: number): CanvasRenderingContext2D | undefined {
  const context = element?.getContext("2d");
  if (!element || !context || width === 0) return undefined;
  const ratio = Math.min(2, devicePixelRatio || 1);
  [element.width, element.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "11px system-ui, sans-serif";
  return context;
}

function drawAxes(context: CanvasRenderingContext2D, { xs, ys, x, y, width, height, right }: Layout): void {
  context.lineWidth = 1;
  context.textAlign = "right";
  for (const tick of ys.ticks) {
    context.strokeStyle = colourOf("hair");
    context.globalAlpha = 0.6;
    context.beginPath();
    context.moveTo(margins.left, Math.round(y(tick)) + 0.5);
    context.lineTo(width - right, Math.round(y(tick)) + 0.5);
    context.stroke();
    context.globalAlpha = 1;
    context.fillStyle = colourOf("soft");
    context.fillText(digits(tick), margins.left - 6, y(tick) + 4);
  }
  context.fillStyle = colourOf("soft");
  context.textAlign = "center";
  for (const tick of xs.ticks) context.fillText(tick.toLocaleString("en"), Math.min(x(tick), width - 18), height - 6);
}

function drawLine(context: CanvasRenderingContext2D, { series, colour, weight = "full", dash = [] }: Line, { x, y }: Layout): void {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.globalAlpha = weight === "faint" ? 0.3 : 1;
  context.lineWidth = weight === "faint" ? 1 : 1.5;
  context.setLineDash([...dash]);
  const points = pathOf(series, x, y);
  context.beginPath();
  for (let i = 0; i < points.length; i += 2) context.lineTo(points[i], points[i + 1]);
  context.stroke();
  context.setLineDash([]);
  if (weight === "dots" || points.length === 2)
    for (let i = 0; i < points.length; i += 2) {
      context.beginPath();
      context.arc(points[i], points[i + 1], 2.5, 0, 2 * Math.PI);
      context.fill();
    }
  context.globalAlpha = 1;
}

const isNamed = ({ weight, series }: Line): boolean => weight !== "faint" && series.steps.length > 0;

/** Each name beside the end of its line, moved apart so that none stands on another. */
function drawNames(context: CanvasRenderingContext2D, lines: readonly Line[], { x, y, width, height, right }: Layout): void {
  const named = lines.filter(isNamed);
  const ends = named.map(({ series }) => ({ x: x(series.steps.at(-1) as number), y: y(series.last as number) }));
  const places = endPlaces(
    ends.map((end) => end.y),
    { from: margins.top + 6, to: height - margins.bottom, pitch: 13 },
  );
  context.textAlign = "left";
  context.lineWidth = 1;
  for (const [i, { name, colour }] of named.entries()) {
    const left = width - right + 10;
    context.strokeStyle = colour;
    context.globalAlpha = 0.5;
    context.setLineDash([1.5, 3.5]); // no part of the curve
    context.beginPath();
    context.moveTo(ends[i].x + 2, ends[i].y);
    context.lineTo(left - 2, places[i]);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
    context.fillStyle = colour;
    context.fillText(fitting(context, name, right - 14), left, places[i] + 4);
  }
}

function fitting(context: CanvasRenderingContext2D, name: string, room: number): string {
  if (context.measureText(name).width <= room) return name;
  let end = name.length;
  while (end > 1 && context.measureText(`${name.slice(0, end)}…`).width > room) end--;
  return `${name.slice(0, end)}…`;
}

function drawPointed(context: CanvasRenderingContext2D, lines: readonly Line[], { x, y, height }: Layout, at: number): void {
  context.strokeStyle = colourOf("soft");
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(Math.round(x(at)) + 0.5, margins.top);
  context.lineTo(Math.round(x(at)) + 0.5, height - margins.bottom);
  context.stroke();
  for (const { series, colour, weight } of lines) {
    const value = weight === "faint" ? undefined : valueAt(series, at);
    if (value === undefined || !Number.isFinite(y(value)) || (series.steps.at(-1) as number) < at) continue;
    context.fillStyle = colour;
    context.beginPath();
    context.arc(x(at), y(value), 3, 0, 2 * Math.PI);
    context.fill();
  }
}

/** What all lines say at a step, in words. */
function told(lines: readonly Line[], step: number): string {
  const values = lines.flatMap(({ name, series, weight }) => {
    const found = weight === "faint" ? undefined : valueAt(series, step);
    return found === undefined ? [] : [`${name} ${digits(found)}`];
  });
  return `Step ${step.toLocaleString("en")}: ${values.join(", ") || "nothing yet"}`;
}

/** The last value that was said until a step. */
export function valueAt({ steps, values }: Series, step: number): number | undefined {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] <= step) low = middle + 1;
    else high = middle;
  }
  return values[low - 1];
}

function rangeOf(lines: readonly Line[], scale: "linear" | "log"): number[] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { series } of lines)
    for (const value of series.values)
      if (Number.isFinite(value) && (scale === "linear" || value > 0)) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
  return low <= high ? [low, high] : [];
}
