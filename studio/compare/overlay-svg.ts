import { type Area, chart, linear, logarithmic } from "../../src/pictures/chart.ts";
import { prose } from "../../src/pictures/label.ts";
import { rounded } from "../../src/pictures/number.ts";
import { range, thinned } from "../../src/pictures/points.ts";
import { element, seriesStroke } from "../../src/pictures/svg.ts";
import { linearTicks, tickFormat } from "../../src/pictures/ticks.ts";
import { axisOf } from "../charts/axis.ts";
import type { Line } from "../charts/line-chart.tsx";
import { digits } from "../parts/numbers.ts";

const area: Area = { x: 64, y: 62, width: 640, height: 300 };

/** The lines of the chart as a picture that can be kept: what is shown, on the same axes. */
export function overlaySvg(title: string, lines: readonly Line[], scale: "linear" | "log"): string {
  const drawn = lines
    .map(({ name, dash, series: { steps, values } }, index) => ({
      name,
      dash,
      index,
      points: steps
        .map((step, i) => ({ step, loss: values[i] }))
        .filter(({ loss }) => Number.isFinite(loss) && (scale === "linear" || loss > 0)),
    }))
    .filter(({ points }) => points.length > 0);
  if (drawn.length === 0) throw new Error("there is no line to draw yet; pick runs that have taken a step");
  const [low, high] = range(drawn.flatMap(({ points }) => thinned(points).map(({ loss }) => loss)));
  const floor = scale === "log" ? Math.max(low, Math.min(...drawn.flatMap(({ points }) => thinned(points).map(({ loss }) => loss)))) : low;
  const lastStep = Math.max(...drawn.map(({ points }) => points[points.length - 1].step));
  const [across, up] = [linearTicks(0, lastStep, 8), axisOf([floor, high], scale).ticks];
  const x = linear(0, lastStep, area.x, area.x + area.width);
  const y = (scale === "log" ? logarithmic : linear)(floor, high, area.y + area.height, area.y);
  return chart(
    {
      area,
      title,
      across: { label: "step", ticks: across, at: x, format: tickFormat(across) },
      up: { label: scale === "log" ? "loss (nats, log axis)" : "loss (nats)", ticks: up, at: y, format: digits },
      series: drawn.map(({ name, points }) => {
        const last = points[points.length - 1];
        return { name, label: `${prose(name, 24)} ${last.loss.toFixed(3)}`, end: { x: x(last.step), y: y(last.loss) } };
      }),
    },
    ...drawn.map(({ points, index, dash }) =>
      element("path", {
        d: `M${thinned(points)
          .map(({ step, loss }) => `${rounded(x(step))} ${rounded(y(loss))}`)
          .join("L")}`,
        fill: "none",
        "stroke-width": 1.75,
        "stroke-linejoin": "round",
        ...(dash && { "stroke-dasharray": dash.join(" ") }),
        ...seriesStroke(index),
      }),
    ),
  );
}
