// Numbers as they stand in pictures: coordinates short and the same everywhere, figures for people.

/** A coordinate: two decimals at most, so that files stay small. */
export const rounded = (value: number): string => `${Math.round(value * 100) / 100 || 0}`;

/** How many decimals the numbers of one picture get: two, or as many as its largest needs for two digits. */
export const decimalsFor = (largest: number): number =>
  Math.abs(largest) >= 0.1 || largest === 0 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(Math.abs(largest))));

/** A weight or a statistic, with the decimals of its picture: `0.42`, `1.00`, never `-0.00`. */
export const decimal = (value: number, decimals = 2): string => value.toFixed(decimals).replace(/^-(0\.?0*)$/, "$1");

/** A share: `43 %`, `4.3 %`, `<0.1 %`. */
export function percent(share: number): string {
  const value = 100 * share;
  if (value === 0) return "0 %";
  if (value < 0.1) return "<0.1 %";
  return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} %`;
}

/** The same where several stand below each other: `43.0 %`, `4.3 %`, `<0.1 %`. */
export function alignedPercent(share: number): string {
  const value = 100 * share;
  return value > 0 && value < 0.05 ? "<0.1 %" : `${value.toFixed(1)} %`;
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
