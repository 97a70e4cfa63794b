import { ConfigError } from "../base/errors.ts";

export const schedules = ["constant", "linear", "cosine", "noam"] as const;
export type ScheduleName = (typeof schedules)[number];

export interface ScheduleOptions {
  readonly schedule: ScheduleName;
  /** The highest rate, reached after the warm-up. */
  readonly lr: number;
  /** Where linear and cosine end. */
  readonly minLr: number;
  /** Steps in which the rate rises from 0. */
  readonly warmup: number;
  readonly steps: number;
}

/**
 * The learning rate of a step (counted from 1). Every schedule rises linearly to `lr` and then stays (constant), falls to `minLr` after
 * the last step (linear, cosine), or falls with 1/√step (noam, Vaswani et al. 2017, whose own highest rate is (width · warmup)^−½).
 */
export function learningRate(step: number, { schedule, lr, minLr, warmup, steps }: ScheduleOptions): number {
  if (step <= warmup) return (lr * step) / warmup;
  const left = steps > warmup ? Math.max(0, (steps + 1 - step) / (steps - warmup)) : 0; // the last step still moves the weights
  switch (schedule) {
    case "constant":
      return lr;
    case "linear":
      return minLr + (lr - minLr) * left;
    case "cosine":
      return minLr + (lr - minLr) * 0.5 * (1 + Math.cos(Math.PI * (1 - left)));
    case "noam":
      return lr * Math.sqrt(Math.max(1, warmup) / step);
    default:
      throw new ConfigError(`there is no schedule called "${schedule}"; there are ${schedules.join(", ")}`, {
        code: "config.unknown-name",
      });
  }
}
