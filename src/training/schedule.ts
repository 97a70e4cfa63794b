import { ConfigError } from "../base/errors.ts";

export const schedules = ["constant", "linear", "cosine", "noam", "wsd"] as const;
export type ScheduleName = (typeof schedules)[number];

export interface ScheduleOptions {
  readonly schedule: ScheduleName;
  /** The highest rate, reached after the warm-up. */
  readonly lr: number;
  /** Where linear, cosine and wsd end. */
  readonly minLr: number;
  /** Steps in which the rate rises from 0. */
  readonly warmup: number;
  readonly steps: number;
  /** The share of all steps in which wsd falls; a fifth if left out. */
  readonly decay?: number;
}

export const usualDecay = 0.2;

/**
 * The learning rate of a step (counted from 1). Every schedule rises linearly to `lr` and then stays (constant), falls to `minLr` after
 * the last step (linear, cosine), stays and falls to it over the last steps (wsd, with 1 − √ of the way, Hägele et al. 2024), or falls with 1/√step (noam,
 * Vaswani et al. 2017, whose own highest rate is (width · warmup)^−½).
 */
export function learningRate(step: number, { schedule, lr, minLr, warmup, steps, decay = usualDecay }: ScheduleOptions): number {
  if (step <= warmup) return (lr * step) / warmup;
  const left = steps > warmup ? Math.max(0, (steps + 1 - step) / (steps - warmup)) : 0; // the last step still moves the weights
  switch (schedule) {
    case "constant":
      return lr;
    case "linear":
      return minLr + (lr - minLr) * left;
    case "cosine":
      return minLr + (lr - minLr) * 0.5 * (1 + Math.cos(Math.PI * (1 - left)));
    case "wsd": {
      const falling = Math.min(Math.max(1, Math.round(decay * steps)), Math.max(1, steps - warmup));
      const way = (step - 1 - (steps - falling)) / falling;
      return minLr + (lr - minLr) * (1 - Math.sqrt(Math.min(1, Math.max(0, way))));
    }
    case "noam":
      return lr * Math.sqrt(Math.max(1, warmup) / step);
    default:
      throw new ConfigError(`there is no schedule called "${schedule}"; there are ${schedules.join(", ")}`, {
        code: "config.unknown-name",
      });
  }
}
