import { type Area, type Axis, chart, linear, logarithmic } from "./chart.ts";
import { checkNumbers, checkSome } from "./check.ts";
import { prose } from "./label.ts";
import { figure, rounded } from "./number.ts";
import { least, most } from "./points.ts";
import { element, group, hover, seriesFill, seriesStroke } from "./svg.ts";
import { linearTicks, logTicks } from "./ticks.ts";

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
  return chart(
    { area, title, across, up, series: series.map(({ name }) => ({ name, label: prose(name, 24) })) },
    ...series.map(({ name, values: own }, i) => {
      const points = own.flatMap((value, column) => (value === undefined ? [] : [{ column, value }]));
      const places = points.map(({ column, value }) => `${rounded(across.at(column))} ${rounded(up.at(value))}`);
      return group(
        {},
        hover(name),
        element("path", { d: `M${places.join("L")}`, fill: "none", "stroke-width": 2, "stroke-linejoin": "round", ...seriesStroke(i) }),
        ...points.map(({ column, value }) =>
          element(
            "circle",
            { cx: across.at(column), cy: up.at(value), r: 3.5, ...seriesFill(i) },
            hover(`${name}, ${columns[column]}: ${figure(value)}`),
          ),
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
  return { label: "", ticks: linearTicks(from, to, 6), at: linear(from, to, bottom, top), format: figure };
}

const powerOfTen = (value: number): string => (value >= 0.01 && value <= 1000 ? `${value}` : value.toExponential(0));
