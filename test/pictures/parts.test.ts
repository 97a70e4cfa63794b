import { describe, expect, it } from "vitest";
import { type ColourTable, colourAt, hex, inkOn } from "../../src/pictures/colour.ts";
import { hullOf, strictlyInside } from "../../src/pictures/hull.ts";
import { labelPlaces } from "../../src/pictures/label-places.ts";
import { alignedPercent, decimal, decimalsFor, figure, percent, rounded } from "../../src/pictures/number.ts";
import { middlePart, runningMean, thinned } from "../../src/pictures/points.ts";
import { pooled } from "../../src/pictures/pool.ts";
import { attentionScale } from "../../src/pictures/scale.ts";
import { linearTicks, logTicks, tickFormat } from "../../src/pictures/ticks.ts";

/** CIE L*, how light a colour looks. */
function lightness(table: ColourTable, place: number): number {
  const [red, green, blue] = colourAt(table, place).map((channel) =>
    channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4,
  );
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return luminance > 0.008856 ? 116 * luminance ** (1 / 3) - 16 : 903.3 * luminance;
}

describe("colours", () => {
  it("grow lighter in even steps, so that they can be told apart by lightness alone", () => {
    const steps = Array.from({ length: 17 }, (_, i) => lightness("sequential", i / 16));
    const gaps = steps.slice(1).map((light, i) => light - steps[i]);
    expect(Math.min(...gaps)).toBeGreaterThan(3);
    expect(Math.max(...gaps)).toBeLessThan(7);
  });

  it("fall off alike to both sides of zero", () => {
    for (const away of [0.1, 0.2, 0.3, 0.4, 0.5]) {
      const [below, above] = [lightness("diverging", 0.5 - away), lightness("diverging", 0.5 + away)];
      expect(Math.abs(below - above)).toBeLessThan(2);
      expect(Math.max(below, above)).toBeLessThan(lightness("diverging", 0.5 + away - 0.1));
    }
    expect(hex(colourAt("diverging", 0.5))).toBe("#f6f6f6");
  });

  it("carry ink that shows on them", () => {
    expect(inkOn(colourAt("sequential", 0))).toBe("#ffffff");
    expect(inkOn(colourAt("sequential", 1))).toBe("#000000");
    expect(hex(colourAt("sequential", 7))).toBe("#fde725");
  });
});

it("writes numbers for people", () => {
  expect([0, 1, 0.123456, 12.5, -0.001].map((value) => decimal(value))).toEqual(["0.00", "1.00", "0.12", "12.50", "0.00"]);
  expect([1, 0.1, 0.05, 0.0123, 0].map(decimalsFor)).toEqual([2, 2, 3, 3, 2]);
  expect(decimal(0.0123, decimalsFor(0.0123))).toBe("0.012");
  expect([0, 0.0001, 0.0432, 0.5, 1].map(alignedPercent)).toEqual(["0.0 %", "<0.1 %", "4.3 %", "50.0 %", "100.0 %"]);
  expect([0, 0.0001, 0.0432, 0.5, 1].map(percent)).toEqual(["0 %", "<0.1 %", "4.3 %", "50 %", "100 %"]);
  expect([0.25, 999, 999.9, 12_345, 3.14e23].map(figure)).toEqual(["0.25", "999", "1 k", "12.3 k", "314 Z"]);
  expect([1 / 3, -0.001, 5].map(rounded)).toEqual(["0.33", "0", "5"]);
});

it("puts round numbers on axes", () => {
  expect(linearTicks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(linearTicks(1.31, 3.7, 5)).toEqual([1.5, 2, 2.5, 3, 3.5]);
  expect(linearTicks(2, 2, 5)).toEqual([2]);
  expect(logTicks(0.05, 2000, 9)).toEqual([0.1, 1, 10, 100, 1000]);
  expect(logTicks(1, 1e20, 5)).toEqual([1, 1e5, 1e10, 1e15, 1e20]);
});

it("keeps the number farthest from zero of each square", () => {
  const matrix = [
    [1, -5, 0],
    [2, 3, 0],
    [0, 0, -1],
  ];
  expect(pooled(matrix, 3)).toEqual({ rows: matrix, side: 1 });
  expect(pooled(matrix, 2)).toEqual({
    side: 2,
    rows: [
      [-5, 0],
      [0, -1],
    ],
  });
  expect(pooled(matrix, 3, 2).side).toBe(2);
});

it("finds the corners of a hull and what lies inside", () => {
  const square = [
    { x: 0, y: 0 },
    { x: 2, y: 0 },
    { x: 2, y: 2 },
    { x: 0, y: 2 },
  ];
  const hull = hullOf([...square, { x: 1, y: 1 }, { x: 1, y: 0 }]);
  expect(hull).toEqual(square);
  expect(strictlyInside(hull, { x: 1, y: 1 })).toBe(true);
  expect(strictlyInside(hull, { x: 1, y: 0 })).toBe(false);
  expect(strictlyInside(hull, { x: 3, y: 1 })).toBe(false);
});

it("finds no place where there is no room", () => {
  const room = { x: 0, y: 0, width: 60, height: 20 };
  const [first, second] = labelPlaces(
    Array.from({ length: 2 }, () => ({ x: 5, y: 10, width: 45, height: 12 })),
    room,
  );
  expect(first).toEqual({ x: 13, y: 4, width: 45, height: 12 });
  expect(second).toBeUndefined();
});

describe("a long series of points", () => {
  const points = Array.from({ length: 7000 }, (_, step) => ({ step, loss: step === 3333 ? 99 : step % 2 }));

  it("keeps its spikes when it is thinned", () => {
    expect(thinned(points).length).toBeLessThanOrEqual(700);
    expect(thinned(points)).toContainEqual({ step: 3333, loss: 99 });
  });

  it("is smoothed without lag and without losing its mean", () => {
    const straight = Array.from({ length: 500 }, (_, step) => ({ step, loss: step }));
    expect(runningMean(straight).slice(0, 490)).toEqual(straight.slice(0, 490));
    expect(middlePart(points)).not.toContain(99);
  });
});

it("scales attention by the square root up to the highest weight that is not a causal map's first key", () => {
  const resting = [
    [1, 0, 0],
    [0.9, 0.1, 0],
    [0.6, 0.36, 0.04],
  ];
  const scale = attentionScale([resting]);
  expect([scale.low, scale.high, scale.steps, scale.open]).toEqual([0, 0.36, "root", true]);
  expect(scale.at(0.09)).toBeCloseTo(0.5, 10);
  expect(scale.value(0.5)).toBeCloseTo(0.09, 10);
  expect(scale.at(1)).toBe(1);
  // A first key that takes nearly everything is no reason to show noise as if it were much.
  expect(
    attentionScale([
      [
        [1, 0],
        [0.999, 0.001],
      ],
    ]).high,
  ).toBe(0.25);
  const all = attentionScale([
    [
      [0.7, 0.3],
      [0.5, 0.5],
    ],
  ]);
  expect([all.high, all.open]).toEqual([0.7, false]);
});

it("puts labels on no label, point or line that belongs to another", () => {
  const wanted = Array.from({ length: 12 }, (_, i) => ({ x: 200 + 9 * i, y: 150 + 7 * i, width: 70, height: 13 }));
  const places = labelPlaces(wanted, { x: 0, y: 0, width: 500, height: 400 });
  const apart = (a: { x: number; y: number; width: number; height: number }, b: typeof a) =>
    a.x >= b.x + b.width || b.x >= a.x + a.width || a.y >= b.y + b.height || b.y >= a.y + a.height;
  places.forEach((place, i) => {
    expect(place).toBeDefined();
    for (const other of places.slice(i + 1)) expect(place && other && apart(place, other)).toBe(true);
    for (const { x, y } of wanted) expect(place && apart(place, { x: x - 4, y: y - 4, width: 8, height: 8 })).toBe(true);
  });
});

it("writes the numbers of an axis with the same decimals", () => {
  expect([1, 1.5, 2].map(tickFormat([1, 1.5, 2]))).toEqual(["1.0", "1.5", "2.0"]);
  expect([0, 500, 1000].map(tickFormat([0, 500, 1000]))).toEqual(["0", "500", "1 k"]);
});
