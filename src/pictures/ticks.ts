import { figure } from "./number.ts";

// Round numbers for axes.

/** About so many round numbers from low to high: 1, 2 or 5 times a power of ten apart. */
export function linearTicks(low: number, high: number, count: number): number[] {
  const rough = (high - low || 1) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  // Multiples of a power of ten are written with as many digits as the power has, and no rubbish after them.
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => Number(((first + i) * step).toFixed(Math.min(20, digits))));
}

/** Powers of ten from low to high; only every so many if there are more than `most`. */
export function logTicks(low: number, high: number, most: number): number[] {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  return Array.from({ length: Math.max(0, Math.floor((last - first) / step) + 1) }, (_, i) => Number(`1e${first + i * step}`));
}

/** All numbers of an axis with as many decimals as the one that needs most. */
export function tickFormat(ticks: readonly number[]): (value: number) => string {
  const decimals = Math.max(0, ...ticks.map((value) => `${value}`.split(".")[1]?.length ?? 0));
  const isPlain = ticks.every((value) => Math.abs(value) < 1000 && !`${value}`.includes("e"));
  return isPlain ? (value) => value.toFixed(decimals) : figure;
}
