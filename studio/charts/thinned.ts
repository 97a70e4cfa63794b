import type { Series } from "../stores/series.ts";

/** The points of a line, [x, y, x, y …], thinned to what a screen can show: of each column the first, lowest, highest and last. */
export function pathOf({ steps, values }: Series, x: (step: number) => number, y: (value: number) => number): number[] {
  const points: number[] = [];
  for (let i = 0; i < steps.length; ) {
    const column = Math.floor(x(steps[i]));
    let [low, high] = [i, i];
    const first = i;
    for (; i < steps.length && Math.floor(x(steps[i])) === column; i++) {
      if (values[i] < values[low]) low = i;
      if (values[i] > values[high]) high = i;
    }
    for (const at of new Set([first, Math.min(low, high), Math.max(low, high), i - 1]))
      if (Number.isFinite(values[at])) points.push(x(steps[at]), y(values[at]));
  }
  return points;
}
