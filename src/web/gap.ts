import { gradientGap } from "../gradients/finite-difference.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";

// Whether two devices agree on the same small training.

export interface Trial {
  /** Of the quickest step, the optimizer's part included. */
  readonly msPerStep: number;
  readonly losses: readonly number[];
  /** Of the first step, before the optimizer has touched anything. */
  readonly gradients: ParameterBuffer;
}

export interface Gap {
  /** Of losses, the largest difference, relative to the loss. */
  readonly loss: number;
  /** Of gradients, relative to the largest entry. */
  readonly gradient: number;
}

/** How far two devices are apart; what is not a number is infinitely far. */
export function gapOf(expected: Trial, found: Trial): Gap {
  const far = (gap: number) => (Number.isNaN(gap) ? Number.POSITIVE_INFINITY : gap);
  const losses = found.losses.map((loss, i) => far(Math.abs(loss - expected.losses[i]) / Math.abs(expected.losses[i])));
  const bad = found.gradients.data.some((value) => !Number.isFinite(value));
  const gradient = bad ? Number.POSITIVE_INFINITY : gradientGap(expected.gradients.data, found.gradients.data);
  return { loss: Math.max(...losses), gradient };
}
