import type { HostArray } from "../base/arrays.ts";
import { modelLoss } from "../models/any.ts";
import { compile } from "../runtime/compile.ts";
import type { Arrays } from "../runtime/session.ts";
import type { Reading, RunLike } from "./reading.ts";
import type { TapInfo } from "./taps.ts";

/** One tapped tensor of one text: numbers in row-major order, the axis of the batch left out. */
export interface Activation {
  readonly name: string;
  readonly axes: readonly string[];
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

export interface ObserveOptions {
  readonly taps?: readonly string[];
  /** `scores`, the model's answers, and `loss`; neither if left out. */
  readonly outputs?: readonly string[];
  /** Taps that are replaced, with what they are replaced by. */
  readonly patches?: Arrays;
  readonly threads?: number;
}

/** Runs the model itself, the one that is trained, on one reading. */
export async function observe(run: RunLike, { feeds }: Reading, options: ObserveOptions): Promise<Readonly<Record<string, HostArray>>> {
  const { taps = [], outputs = [], patches = {}, threads } = options;
  const model = compile(modelLoss(run.config.model, { training: false }), { taps, outputs, patches: Object.keys(patches), threads });
  try {
    return await model.run({ ...feeds, ...patches }, { weights: run.weights });
  } finally {
    await model.release();
  }
}

/** The numbers of a tap, without the axis of the batch, in which there is one text. */
export const activationOf = ({ name, axes }: TapInfo, { shape, data }: HostArray): Activation => ({
  name,
  axes,
  shape: shape.slice(1),
  data: data as Float32Array,
});
