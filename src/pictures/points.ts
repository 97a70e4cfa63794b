/** A loss, measured at a step. */
export interface Point {
  readonly step: number;
  readonly loss: number;
}

/** No more points are drawn than there are pixels. */
const mostDrawn = 700;

/** The mean of each point's surroundings, a fiftieth of the series wide. */
export function runningMean(points: readonly Point[]): Point[] {
  const reach = Math.ceil(points.length / 100);
  const sums = [0];
  for (const { loss } of points) sums.push(sums[sums.length - 1] + loss);
  return points.map(({ step }, i) => {
    // As many after as before, so that the curve does not lag where the loss falls fast.
    const near = Math.min(reach, i);
    const end = Math.min(points.length, i + near + 1);
    return { step, loss: (sums[end] - sums[i - near]) / (end - (i - near)) };
  });
}

/** At most `mostDrawn` points: of each stretch the lowest and the highest, so that no spike is lost. */
export function thinned(points: readonly Point[]): readonly Point[] {
  if (points.length <= mostDrawn) return points;
  const stretches = mostDrawn / 2;
  return Array.from({ length: stretches }, (_, i) => {
    const stretch = points.slice(Math.floor((i * points.length) / stretches), Math.floor(((i + 1) * points.length) / stretches));
    const lowest = stretch.reduce((a, b) => (b.loss < a.loss ? b : a));
    const highest = stretch.reduce((a, b) => (b.loss > a.loss ? b : a));
    return lowest.step < highest.step ? [lowest, highest] : lowest === highest ? [lowest] : [highest, lowest];
  }).flat();
}

/** Losses without the rarest hundredth on either side, which would flatten all else. */
export function middlePart(points: readonly Point[]): number[] {
  const sorted = points.map(({ loss }) => loss).sort((a, b) => a - b);
  const rare = Math.floor(sorted.length / 100);
  return sorted.slice(rare, sorted.length - rare);
}

export const least = (values: readonly number[]): number => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
export const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);

/** From the lowest to the highest with a little air, not below zero for what cannot be. */
export function range(values: readonly number[]): [low: number, high: number] {
  if (values.length === 0) return [0, 1];
  const [low, high] = [least(values), most(values)];
  const margin = 0.04 * (high - low || Math.abs(high) || 1);
  return [low >= 0 ? Math.max(0, low - margin) : low - margin, high + margin];
}
