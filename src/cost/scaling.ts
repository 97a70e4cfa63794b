import { decoderConfig } from "../models/config.ts";
import type { Device } from "../runtime/device.ts";
import { cost } from "./cost.ts";

// How the steps of attention grow with the length n of a sequence and the width d of a model: counted, and fitted.

export const scalingSteps = ["projections", "scores", "weighted sum", "feed-forward"] as const;
export type ScalingStep = (typeof scalingSteps)[number];
export type Scaled = Readonly<Record<ScalingStep, number>>;

/** The lecture's exponents: n d², n² d, n² d, n d². */
export const theory: Readonly<Record<"length" | "width", Scaled>> = {
  length: { projections: 1, scores: 2, "weighted sum": 2, "feed-forward": 1 },
  width: { projections: 2, scores: 1, "weighted sum": 1, "feed-forward": 2 },
};

export interface ScalingPoint {
  readonly length: number;
  readonly width: number;
  /** FLOPs or seconds of one layer. */
  readonly values: Scaled;
}

export interface Scaling {
  readonly axis: "length" | "width";
  readonly points: readonly ScalingPoint[];
  readonly exponents: Scaled;
}

/** The sizes of the experiment: one of the two doubled several times. */
export const scalingSizes = {
  length: [128, 256, 512, 1024].map((length) => ({ length, width: 256 })),
  width: [128, 256, 512, 1024].map((width) => ({ length: 256, width })),
} as const;

export const scalingHeads = 4;

/** The exact counts of one layer, for n doubled and for d doubled. */
export const countedScaling = (device: Device): Promise<Scaling[]> =>
  scalingOf(async (length, width) => {
    const config = decoderConfig({ layers: 1, heads: scalingHeads, width, context: length, vocab: 1, positions: "none" });
    const { phases } = await cost(config, { length, phases: ["sequence"], device });
    const products = new Map(phases.sequence?.parts.map(({ name, products }) => [name as string, products]));
    return byStep((step) => products.get(step) ?? 0);
  });

/** Asks for the values at all sizes, and fits the exponents. */
export async function scalingOf(valuesAt: (length: number, width: number) => Promise<Scaled>): Promise<Scaling[]> {
  const found: Scaling[] = [];
  for (const axis of ["length", "width"] as const) {
    const points: ScalingPoint[] = [];
    for (const { length, width } of scalingSizes[axis]) points.push({ length, width, values: await valuesAt(length, width) });
    const sizes = points.map((point) => point[axis]);
    const exponents = byStep((step) =>
      exponent(
        sizes,
        points.map(({ values }) => values[step]),
      ),
    );
    found.push({ axis, points, exponents });
  }
  return found;
}

export const byStep = (value: (step: ScalingStep) => number): Scaled =>
  Object.fromEntries(scalingSteps.map((step) => [step, value(step)])) as Scaled;

/** The slope of log y over log x, by least squares. */
export function exponent(xs: readonly number[], ys: readonly number[]): number {
  const [u, v] = [xs.map(Math.log), ys.map(Math.log)];
  const [meanU, meanV] = [u, v].map((values) => values.reduce((a, b) => a + b, 0) / values.length);
  const covariance = u.reduce((total, x, i) => total + (x - meanU) * (v[i] - meanV), 0);
  return covariance / u.reduce((total, x) => total + (x - meanU) ** 2, 0);
}
