import { describe, expect, it } from "vitest";
import { axisOf } from "../../studio/charts/axis.ts";
import { endPlaces } from "../../studio/charts/end-labels.ts";
import { pathOf } from "../../studio/charts/thinned.ts";
import { Series, smoothed } from "../../studio/stores/series.ts";

const series = (values: readonly number[]): Series => {
  const found = new Series();
  for (const [i, value] of values.entries()) found.add(i + 1, value);
  return found;
};

describe("a smoothed line", () => {
  it("of one value is that value, and stays between the lowest and the highest of any", () => {
    expect(smoothed(series([3, 3, 3, 3])).values.every((one) => Math.abs(one - 3) < 1e-12)).toBe(true);
    const noisy = Array.from({ length: 200 }, (_, i) => Math.sin(i * 7.3));
    const found = smoothed(series(noisy), 0.9).values;
    expect(found).toHaveLength(200);
    expect(Math.min(...found)).toBeGreaterThanOrEqual(Math.min(...noisy));
    expect(Math.max(...found)).toBeLessThanOrEqual(Math.max(...noisy));
  });

  it("begins where the first value is, and without smoothing is the line itself", () => {
    expect(smoothed(series([5, 1]), 0.99).values[0]).toBeCloseTo(5, 12);
    expect(smoothed(series([5, 1, 4]), 0).values).toEqual([5, 1, 4]);
  });
});

describe("an axis", () => {
  it("has a few marks within its values, also where these differ by rounding alone", () => {
    for (const given of [
      [0, 1],
      [3, 3],
      [1e-3, 1e-3 + 1e-18],
      [-5, 5000],
      [0.999_999, 1],
    ] as const)
      for (const scale of ["linear", "log"] as const) {
        const { ticks, place, value } = axisOf(given, scale);
        expect(ticks.length).toBeLessThan(40);
        for (const tick of ticks) expect(value(place(tick))).toBeCloseTo(tick, 6);
      }
  });
});

describe("a long line", () => {
  it("is drawn in few points, and none of its peaks is lost", () => {
    const values = Array.from({ length: 10_000 }, (_, i) => (i === 7321 ? 9 : i === 123 ? -9 : Math.sin(i)));
    const points = pathOf(
      series(values),
      (step) => step / 20,
      (value) => value,
    );
    expect(points.length).toBeLessThan(2 * 4 * 510);
    const heights = points.filter((_, i) => i % 2 === 1);
    expect(Math.max(...heights)).toBe(9);
    expect(Math.min(...heights)).toBe(-9);
  });
});

describe("names at the ends of lines", () => {
  it("stand apart, in the order of their lines, near where they are wanted", () => {
    const wanted = [100, 101, 99, 10, 300];
    const places = endPlaces(wanted, { from: 8, to: 320, pitch: 13 });
    const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
    for (let i = 1; i < order.length; i++) expect(places[order[i]] - places[order[i - 1]]).toBeGreaterThanOrEqual(13 - 1e-9);
    expect(places[3]).toBe(10);
    expect(places[4]).toBe(300);
  });
});
