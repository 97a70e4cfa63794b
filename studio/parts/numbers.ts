// Numbers as people read them.

/** 1,234 · 12.3 million */
export function amount(value: number): string {
  if (Math.abs(value) >= 1e9) return `${(value / 1e9).toPrecision(3)} billion`;
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toPrecision(3)} million`;
  return Math.round(value).toLocaleString("en");
}

export function bytes(value: number): string {
  const names = ["B", "KB", "MB", "GB", "TB"];
  let [size, unit] = [value, 0];
  while (size >= 1000 && unit < names.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${unit === 0 ? size : size.toPrecision(3)} ${names[unit]}`;
}

/** Three digits that say something. */
export function digits(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return `${value}`;
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e5 ? `${Number(value.toPrecision(4))}` : value.toExponential(2);
}

export const percent = (share: number): string => `${(100 * share).toFixed(share >= 0.1 || share === 0 ? 0 : 1)} %`;

export function duration(seconds: number): string {
  if (seconds < 1) return "less than a second";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
