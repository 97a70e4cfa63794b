import type { HostArray } from "../base/arrays.ts";

/** Evaluates a scalar function of host arrays. */
export type ScalarFunction = (inputs: readonly HostArray[]) => Promise<number>;

/** The derivative of a scalar with respect to every number of one input, by central differences of fourth order. */
export async function finiteDifference(f: ScalarFunction, inputs: readonly HostArray[], index: number, step: number): Promise<number[]> {
  const x = inputs[index].data as Float64Array;
  const gradient: number[] = [];
  for (let i = 0; i < x.length; i++) {
    const before = x[i];
    const at = async (offset: number) => {
      x[i] = before + offset * step;
      const value = await f(inputs);
      x[i] = before;
      return value;
    };
    const [near, far] = [(await at(1)) - (await at(-1)), (await at(2)) - (await at(-2))];
    gradient.push((8 * near - far) / (12 * step));
  }
  return gradient;
}

/** The largest difference between two gradients, relative to the largest entry. */
export function gradientGap(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let gap = 0;
  let scale = 1e-3; // a gradient that is zero everywhere has no size of its own
  for (let i = 0; i < a.length; i++) {
    gap = Math.max(gap, Math.abs(a[i] - b[i]));
    scale = Math.max(scale, Math.abs(a[i]), Math.abs(b[i]));
  }
  return Number.isNaN(gap) ? Number.POSITIVE_INFINITY : gap / scale;
}
