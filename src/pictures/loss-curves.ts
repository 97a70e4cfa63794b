import { type Area, type Axis, chart, linear } from "./chart.ts";
import { checkNumbers, checkSome } from "./check.ts";
import { prose } from "./label.ts";
import { rounded } from "./number.ts";
import { least, middlePart, most, type Point, range, runningMean, thinned } from "./points.ts";
import { element, group, hover, seriesFill, seriesStroke } from "./svg.ts";
import { linearTicks, tickFormat } from "./ticks.ts";

export interface LossSeries {
  readonly name: string;
  /** In the order of the steps. A loss that is no number is marked, not hidden. */
  readonly points: readonly Point[];
}

export interface LossCurves {
  readonly series: readonly LossSeries[];
  readonly title?: string;
}

/** A series of more points than this is noise with a curve in it: the points thin, their running mean strong. */
const mostPlain = 60;
const area: Area = { x: 64, y: 62, width: 640, height: 300 };

/** Losses by step: what is measured at every step, smoothed, and what is measured now and then. */
export function lossCurves({ series, title = "Loss" }: LossCurves): string {
  checkSome(title, series, "series");
  for (const { name, points } of series) {
    checkSome(`${title}, ${name}`, points, "points");
    checkNumbers(
      `${title}, steps of ${name}`,
      points.map(({ step }) => step),
    );
  }
  const curves = series.map(({ name, points }) => {
    const finite = points.filter(({ loss }) => Number.isFinite(loss));
    const noisy = finite.length > mostPlain;
    return {
      name,
      raw: finite,
      strong: noisy ? runningMean(finite) : finite,
      noisy,
      broken: points.filter(({ loss }) => !Number.isFinite(loss)),
    };
  });
  const steps = series.flatMap(({ points }) => points.map(({ step }) => step));
  const [low, high] = range(
    curves.flatMap(({ raw, strong, noisy }) => [...strong.map(({ loss }) => loss), ...(noisy ? middlePart(raw) : [])]),
  );
  const across = axis("step", least(steps), most(steps), area.x, area.x + area.width, 8);
  const up = axis("loss (nats)", low, high, area.y + area.height, area.y, 6);
  const line = (points: readonly Point[], index: number, look: { readonly width: number; readonly opacity: number }) =>
    points.length === 0
      ? ""
      : element("path", {
          d: `M${points.map(({ step, loss }) => `${rounded(across.at(step))} ${rounded(up.at(Math.min(high, Math.max(low, loss))))}`).join("L")}`,
          fill: "none",
          "stroke-width": look.width,
          "stroke-opacity": look.opacity,
          "stroke-linejoin": "round",
          ...seriesStroke(index),
        });

  const named = curves.map(({ name, strong }) => {
    const last = strong.at(-1);
    if (last === undefined) return { name, label: prose(name, 24) };
    return { name, label: `${prose(name, 24)} ${last.loss.toFixed(3)}`, end: { x: across.at(last.step), y: up.at(last.loss) } };
  });
  return chart(
    { area, title, across, up, series: named },
    ...curves.map(({ raw, noisy }, i) => (noisy ? line(thinned(raw), i, { width: 1, opacity: 0.35 }) : "")),
    ...curves.map(({ name, strong }, i) =>
      group(
        {},
        hover(name),
        line(thinned(strong), i, { width: 2, opacity: 1 }),
        strong.length <= mostPlain ? dots(strong, i, across, up) : "",
      ),
    ),
    ...curves.map(({ name, broken }, i) =>
      broken
        .slice(0, 50)
        .map(({ step }) => cross(across.at(step), i, `${name}, step ${step}: the loss is not a finite number`))
        .join(""),
    ),
  );
}

function axis(label: string, low: number, high: number, from: number, to: number, count: number): Axis {
  const ticks = linearTicks(low, high, count);
  return { label, ticks, at: linear(low, high, from, to), format: tickFormat(ticks) };
}

const dots = (points: readonly Point[], index: number, across: Axis, up: Axis): string =>
  points
    .map(({ step, loss }) =>
      element("circle", { cx: across.at(step), cy: up.at(loss), r: 2.5, ...seriesFill(index) }, hover(`step ${step}: ${loss.toFixed(4)}`)),
    )
    .join("");

const cross = (x: number, index: number, words: string): string =>
  element(
    "path",
    { d: `M${rounded(x - 4)} ${area.y}l8 8m0 -8l-8 8`, fill: "none", "stroke-width": 2, ...seriesStroke(index) },
    hover(words),
  );
