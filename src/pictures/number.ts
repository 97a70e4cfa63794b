// Numbers as they stand in pictures: coordinates short and the same everywhere, figures for people.

/** A coordinate: two decimals at most, so that files stay small. */
export const rounded = (value: number): string => `${Math.round(value * 100) / 100 || 0}`;

/** A weight or a statistic: `0.42`, `1`, `0.004`. */
export function decimal(value: number): string {
  if (value === 0) return "0";
  return Math.abs(value) < 0.01 ? Number(value.toPrecision(1)).toString() : Number(value.toFixed(2)).toString();
}

/** The same where there is room for four characters only. */
export const shortDecimal = (value: number): string => `${Number(value.toFixed(Math.abs(value) < 10 ? 2 : 0)) || 0}`;

/** A share: `43 %`, `4.3 %`, `<0.1 %`. */
export function percent(share: number): string {
  const value = 100 * share;
  if (value === 0) return "0 %";
  if (value < 0.1) return "<0.1 %";
  return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} %`;
}

const prefixes = [
  [1e24, "Y"],
  [1e21, "Z"],
  [1e18, "E"],
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
] as const;

/** A count or a rate with its prefix: `3.4 G`, `12 k`, `0.25`. */
export function figure(value: number): string {
  const size = Math.abs(value);
  const [unit, prefix] = prefixes.find(([least]) => size >= least * 0.9995) ?? [1, ""];
  const number = Number((value / unit).toPrecision(3)).toString();
  return prefix === "" ? number : `${number} ${prefix}`;
}
