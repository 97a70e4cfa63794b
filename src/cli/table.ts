// Columns of text: the first on the left, the others on the right, as numbers want to stand.

export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join("  ")
      .trimEnd();
  return [line(header), widths.map((width) => "─".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}

const prefixes = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"] as const;

/** 4030401793 FLOP is 4.03 GFLOP. */
export function withUnit(value: number, unit: string): string {
  if (value === 0) return `0 ${unit}`;
  const power = Math.max(0, Math.min(prefixes.length - 1, Math.floor(Math.log10(Number(Math.abs(value).toPrecision(3))) / 3)));
  return `${+(value / 1000 ** power).toPrecision(3)} ${prefixes[power]}${unit}`;
}

export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

export const grouped = (value: number): string => value.toLocaleString("en");
