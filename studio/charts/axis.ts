// An axis: where a value stands between 0 and 1, which value stands at a place, and marks at round numbers.

export interface Axis {
  place(value: number): number;
  value(place: number): number;
  readonly ticks: readonly number[];
}

/** Around all given values, with about so many marks; 0 to 1 where there are none. */
export function axisOf(given: readonly number[], scale: "linear" | "log", marks = 5): Axis {
  const known = given.filter((one) => Number.isFinite(one) && (scale === "linear" || one > 0));
  let [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [scale === "log" ? 0.1 : 0, 1];
  // numbers that differ only by rounding are one number: between them there are no round ones
  if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high)))
    [low, high] = scale === "log" ? [low / 2, high * 2] : [low - Math.abs(low || 1) / 2, high + Math.abs(high || 1) / 2];
  if (scale === "log") return logAxis(low, high);
  const step = roundStep((high - low) / marks);
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return { place: (value) => (value - low) / (high - low), value: (place) => low + place * (high - low), ticks };
}

function logAxis(low: number, high: number): Axis {
  const [from, to] = [Math.log(low), Math.log(high)];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const digit of to - from > 6 ? [1] : to - from > 2 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7]) {
      const tick = digit * 10 ** power;
      if (tick >= low && tick <= high) ticks.push(Number(tick.toPrecision(6)));
    }
  return { place: (value) => (Math.log(value) - from) / (to - from), value: (place) => Math.exp(from + place * (to - from)), ticks };
}

/** 1, 2 or 5 times a power of ten, not below. */
function roundStep(wanted: number): number {
  const power = 10 ** Math.floor(Math.log10(wanted));
  return power * ([1, 2, 5, 10].find((digit) => digit * power >= wanted) ?? 10);
}
