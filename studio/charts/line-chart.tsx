import { useEffect, useRef, useState } from "preact/hooks";
import { digits } from "../parts/numbers.ts";
import { colourOf, theme } from "../parts/theme.ts";
import type { Series } from "../stores/series.ts";
import { axisOf } from "./axis.ts";
import { pathOf } from "./thinned.ts";

// Lines over steps, on a canvas: twenty runs of ten thousand points are drawn in a few milliseconds, since of all points that fall on one
// column of the screen only the first, the last, the highest and the lowest can be seen.

export interface Line {
  readonly name: string;
  readonly series: Series;
  readonly colour: string;
  /** Drawn through, or only hinted at behind a smoother one. */
  readonly weight?: "full" | "faint" | "dots";
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
  readonly canvas?: { current: HTMLCanvasElement | null };
  /** Called with the step that is pointed at. */
  readonly point?: (step: number | undefined) => void;
}

const margin = { left: 48, right: 12, top: 8, bottom: 24 };

export function LineChart({ label, lines, height = 220, scale = "linear", version, until, canvas, point }: LineChartProps) {
  const own = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<number>();
  useEffect(() => {
    const element = own.current;
    if (!element) return;
    if (canvas) canvas.current = element;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const xs = axisOf(
    [0, until ?? 0, ...lines.flatMap(({ series: { steps } }) => (steps.length ? [steps[0], steps[steps.length - 1]] : []))],
    "linear",
  );
  const ys = axisOf(rangeOf(lines, scale), scale, Math.max(1, Math.min(6, Math.floor(height / 40))));
  const x = (step: number) => margin.left + xs.place(step) * Math.max(1, width - margin.left - margin.right);
  const y = (value: number) => height - margin.bottom - ys.place(value) * (height - margin.top - margin.bottom);
  const colours = theme.value; // drawn again when it changes
  useEffect(() => {
    const element = own.current;
    const context = element?.getContext("2d");
    if (!element || !context || width === 0) return;
    const ratio = Math.min(2, devicePixelRatio || 1);
    [element.width, element.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.lineWidth = 1;
    for (const tick of ys.ticks) {
      context.strokeStyle = colourOf("hair");
      context.globalAlpha = 0.6;
      context.beginPath();
      context.moveTo(margin.left, Math.round(y(tick)) + 0.5);
      context.lineTo(width - margin.right, Math.round(y(tick)) + 0.5);
      context.stroke();
      context.globalAlpha = 1;
      context.fillStyle = colourOf("soft");
      context.textAlign = "right";
      context.fillText(digits(tick), margin.left - 6, y(tick) + 4);
    }
    context.textAlign = "center";
    for (const tick of xs.ticks) context.fillText(tick.toLocaleString("en"), Math.min(x(tick), width - 18), height - 6);
    for (const { series, colour, weight = "full" } of lines) {
      context.strokeStyle = colour;
      context.fillStyle = colour;
      context.globalAlpha = weight === "faint" ? 0.3 : 1;
      context.lineWidth = weight === "faint" ? 1 : 1.5;
      const points = pathOf(series, x, y);
      context.beginPath();
      for (let i = 0; i < points.length; i += 2) context.lineTo(points[i], points[i + 1]);
      context.stroke();
      if (weight === "dots" || points.length === 2)
        for (let i = 0; i < points.length; i += 2) {
          context.beginPath();
          context.arc(points[i], points[i + 1], 2.5, 0, 2 * Math.PI);
          context.fill();
        }
      context.globalAlpha = 1;
    }
    if (at !== undefined) {
      context.strokeStyle = colourOf("soft");
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(Math.round(x(at)) + 0.5, margin.top);
      context.lineTo(Math.round(x(at)) + 0.5, height - margin.bottom);
      context.stroke();
    }
  }, [width, height, scale, version, lines, at, colours, until]);
  const move = (step: number | undefined) => {
    setAt(step);
    point?.(step);
  };
  const stepAt = (place: number) => Math.round(xs.value((place - margin.left) / Math.max(1, width - margin.left - margin.right)));
  const last = Math.max(0, ...lines.map(({ series }) => series.steps.at(-1) ?? 0));
  const walk = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    move(Math.min(last, Math.max(0, (at ?? last) + by * Math.max(1, Math.round(last / 100)))));
  };
  return (
    <div class="chart">
      <div
        role="slider"
        aria-label={label}
        aria-orientation="horizontal"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at ?? last}
        aria-valuetext={told(lines, at ?? last)}
        tabIndex={0}
        onPointerMove={(event) => move(Math.min(last, Math.max(0, stepAt(event.offsetX))))}
        onPointerLeave={() => move(undefined)}
        onKeyDown={walk}
        onBlur={() => move(undefined)}
      >
        <canvas ref={own} style={{ height: `${height}px` }} />
      </div>
      <div class="readout" aria-live="off">
        {at !== undefined && told(lines, at)}
      </div>
    </div>
  );
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
