import type { HostArray } from "../base/arrays.ts";
import { modelLoss, takesAnyLength } from "../models/any.ts";
import { compile } from "../runtime/compile.ts";
import type { Arrays } from "../runtime/session.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { Reading } from "./reading.ts";
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
}

/** Runs the model itself, the one that is trained, on one reading. What is looked at in the same way again is not compiled again. */
export async function observe(
  trained: TrainedModel,
  { feeds, signal }: Reading,
  { taps = [], outputs = [], patches = {} }: ObserveOptions,
): Promise<Readonly<Record<string, HostArray>>> {
  signal?.throwIfAborted();
  const { model, device, weights } = trained;
  const names = Object.keys(patches);
  const symbols = takesAnyLength(model) ? "open" : "bound";
  return trained.use(
    `observe ${JSON.stringify([taps, outputs, names])}`,
    () => compile(modelLoss(model, { training: false }), { device, taps, outputs, patches: names, symbols }),
    (observed) => observed.run({ ...feeds, ...patches }, { weights: weights.buffer }),
  );
}

/** The numbers of a tap, without the axis of the batch, in which there is one text. */
export const activationOf = ({ name, axes }: TapInfo, { shape, data }: HostArray): Activation => ({
  name,
  axes,
  shape: shape.slice(1),
  data: data as Float32Array,
});
