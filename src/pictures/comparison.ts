import { type Area, type Axis, chart, dashes, linear, logarithmic } from "./chart.ts";
import { checkNumbers, checkSome } from "./check.ts";
import { prose } from "./label.ts";
import { figure, rounded } from "./number.ts";
import { least, most } from "./points.ts";
import { element, group, hover, seriesFill, seriesStroke } from "./svg.ts";
import { linearTicks, logTicks, tickFormat } from "./ticks.ts";

export interface ComparedSeries {
  readonly name: string;
  /** One number for each column; nothing where there is none. */
  readonly values: readonly (number | undefined)[];
}

export interface Comparison {
  readonly title: string;
  /** From left to right: lengths, distances, places. */
  readonly columns: readonly string[];
  readonly series: readonly ComparedSeries[];
}

const area: Area = { x: 64, y: 48, width: 560, height: 260 };
/** Values so far apart cannot be read on equal steps. */
const manyTimes = 200;

/** The same figure for several models over the same columns: an error by length, a gradient by distance. */
export function comparison({ title, columns, series }: Comparison): string {
  checkSome(title, columns, "columns");
  checkSome(title, series, "series");
  const values = series.flatMap(({ name, values: own }) => {
    const there = own.filter((value) => value !== undefined);
    checkNumbers(`${title}, ${name}`, there);
    return there;
  });
  checkSome(title, values, "numbers");
  const across: Axis = {
    label: "",
    ticks: columns.map((_, i) => i),
    at: linear(-0.5, columns.length - 0.5, area.x, area.x + area.width),
    format: (i) => prose(columns[i], 12),
  };
  const up = upwards(values);
  const lines = series.map(({ values: own }) =>
    own.flatMap((value, column) => (value === undefined ? [] : [{ column, value, x: across.at(column), y: up.at(value) }])),
  );
  return chart(
    { area, title, across, up, series: series.map(({ name }, i) => ({ name, label: prose(name, 24), end: lines[i].at(-1) })) },
    ...series.map(({ name }, i) => {
      const points = lines[i];
      const d = `M${points.map(({ x, y }) => `${rounded(x)} ${rounded(y)}`).join("L")}`;
      const look = {
        fill: "none",
        "stroke-width": 2,
        "stroke-linejoin": "round",
        ...dashes(points, lines.slice(0, i)),
        ...seriesStroke(i),
      };
      return group(
        {},
        hover(name),
        points.length > 0 ? element("path", { d, ...look }) : "",
        ...points.map(({ column, value, x, y }) =>
          element("circle", { cx: x, cy: y, r: 3.5, ...seriesFill(i) }, hover(`${name}, ${columns[column]}: ${figure(value)}`)),
        ),
      );
    }),
  );
}

/** From zero in equal steps, or by powers of ten where everything is above zero and far apart. */
function upwards(values: readonly number[]): Axis {
  const [low, high] = [least(values), most(values)];
  const [bottom, top] = [area.y + area.height, area.y];
  if (low > 0 && high / low > manyTimes) {
    const [from, to] = [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
    return { label: "", ticks: logTicks(from, to, 7), at: logarithmic(from, to, bottom, top), format: powerOfTen };
  }
  const [from, to] = [Math.min(0, low), Math.max(high, low < 0 ? 0 : 1e-9)];
  const ticks = linearTicks(from, to, 6);
  return { label: "", ticks, at: linear(from, to, bottom, top), format: tickFormat(ticks) };
}

const powerOfTen = (value: number): string => (value >= 0.01 && value <= 1000 ? `${value}` : value.toExponential(0));
