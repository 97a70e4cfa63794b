import { array } from "../base/arrays.ts";
import { chance } from "../base/chance.ts";
import type { Batches } from "../batches/batch.ts";
import { ParameterBuffer } from "../graph/parameters.ts";
import { modelConfig, modelLoss } from "../models/any.ts";
import { compile, parametersOf } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { AdamW } from "../training/adam.ts";
import { fit } from "../training/fit.ts";
import { initialise } from "../weights/initialise.ts";
import type { Trial } from "./gap.ts";

// A small training, the same on every device: what it takes, and whether two devices agree on it.

/** What is trained. Small models are quicker in WebAssembly and large ones on a GPU, so something of the size that is wanted tells most. */
export interface TrialSize {
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  readonly context: number;
  readonly vocab: number;
  readonly batch: number;
}

const usualSize: TrialSize = { layers: 2, heads: 4, width: 128, context: 64, vocab: 64, batch: 8 };

/** The first makes a session, and is not timed. */
const steps = 4;

/** Windows of numbers that count upwards, each from a place of its own. */
const batchesOf = ({ batch, context, vocab }: TrialSize): Batches => ({
  perEpoch: 1,
  batch(index) {
    const source = chance(1).fork(index);
    const starts = Array.from({ length: batch }, (_, row) => source.integer(row, vocab));
    const window = (shift: number) => {
      const ids = starts.flatMap((start) => Array.from({ length: context }, (_, i) => (start + shift + i) % vocab));
      return array("int32", ids, [batch, context]);
    };
    const tokens = batch * context;
    return { feeds: { ids: window(0), targets: window(1) }, targets: tokens, tokens, places: tokens };
  },
});

export interface TrialOptions {
  /** Seconds. */
  readonly clock: () => number;
  readonly size?: Partial<TrialSize>;
  /** Milliseconds of a step that are too many for this device: it is timed once, and no longer. */
  readonly hopeless?: number;
}

/** Trains a few steps. */
export async function tried(device: Device, { clock, size, hopeless = Number.POSITIVE_INFINITY }: TrialOptions): Promise<Trial> {
  const { batch: _, ...model } = { ...usualSize, ...size };
  const config = modelConfig({ model: "decoder", ...model, dropout: 0.1 });
  const batches = batchesOf({ ...usualSize, ...size });
  const loss = modelLoss(config);
  const layout = parametersOf(loss);
  const optimizer = new AdamW(layout, { clip: 1 });
  initialise(layout, chance(2), optimizer.weights);
  const gradients = new ParameterBuffer(layout);
  const first = compile(loss, { gradientOf: "loss", outputs: ["loss"], device });
  const losses: number[] = [];
  try {
    const { loss: value } = await first.run(batches.batch(0).feeds, { weights: optimizer.weights, gradients, chance: chance(3) });
    losses.push(Number(value.data[0]));
  } finally {
    await first.release();
  }
  let best = Number.POSITIVE_INFINITY;
  const settings = { steps, learningRate: () => 1e-3, chance: chance(4), device, resident: true, clock };
  for await (const report of fit(loss, optimizer, batches, settings)) {
    if (report.kind !== "step") continue;
    losses.push(report.loss);
    if (report.step === 1) continue;
    best = Math.min(best, 1000 * report.seconds);
    if (best > hopeless) break;
  }
  return { msPerStep: best, losses, gradients };
}
