// Numbers over steps, as they come: two growing arrays, so that ten thousand points are no ten thousand objects.

export class Series {
  readonly steps: number[] = [];
  readonly values: number[] = [];

  /** A step that was taken again, after a stop, takes the place of what was said of it before. */
  add(step: number, value: number): void {
    while (this.steps.length > 0 && (this.steps.at(-1) as number) >= step) {
      this.steps.pop();
      this.values.pop();
    }
    this.steps.push(step);
    this.values.push(value);
  }

  get last(): number | undefined {
    return this.values.at(-1);
  }
}

/** The longer the way, the smoother its line; a short one is as it is. */
export const usualShare = (steps: number): number => Math.min(0.93, Math.max(0, 1 - 40 / Math.max(1, steps)));

/** The mean of what came so far, later values counting more: a line that the eye can follow through a noisy one. */
export function smoothed({ steps, values }: Series, share = 0.95): Series {
  const found = new Series();
  let [sum, weight] = [0, 0];
  for (const [i, value] of values.entries()) {
    sum = share * sum + (1 - share) * value;
    weight = share * weight + (1 - share);
    found.steps.push(steps[i]);
    found.values.push(sum / weight);
  }
  return found;
}
