const blocks = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/** Numbers at so many places, each the mean of its stretch. */
function resampled(values: readonly number[], width: number): number[] {
  const places = Math.min(width, values.length);
  return Array.from({ length: places }, (_, i) => {
    const stretch = values.slice(Math.floor((i * values.length) / places), Math.floor(((i + 1) * values.length) / places));
    return stretch.reduce((a, b) => a + b, 0) / stretch.length;
  });
}

/** A curve in a terminal: `height` rows of blocks with the highest and the lowest value beside them. */
export function curve(
  values: readonly number[],
  { width = 60, height = 6 }: { readonly width?: number; readonly height?: number } = {},
): string {
  const points = resampled(values.filter(Number.isFinite), width);
  if (points.length < 2) return "";
  const [low, high] = [Math.min(...points), Math.max(...points)];
  const eighths = points.map((value) => Math.max(1, Math.round(((value - low) / (high - low || 1)) * height * 8)));
  const label = (row: number) => (row === height - 1 ? high.toFixed(2) : row === 0 ? low.toFixed(2) : "").padStart(6);
  return Array.from({ length: height }, (_, i) => height - 1 - i)
    .map((row) => {
      const cells = eighths.map((level) => (level >= 8 * (row + 1) ? "█" : level > 8 * row ? blocks[level - 8 * row - 1] : " "));
      return `${label(row)} ┤${cells.join("").trimEnd()}`;
    })
    .join("\n");
}
