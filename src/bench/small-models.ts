import { array, elementCount } from "../base/arrays.ts";
import { chance } from "../base/chance.ts";
import { pause } from "../base/turns.ts";
import type { Batches } from "../batches/batch.ts";
import { speakerOf } from "../generation/speaker.ts";
import type { TensorFunction } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { type ModelConfig, type ModelInput, modelConfig, modelLoss } from "../models/any.ts";
import { parametersOf } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { baked } from "../trained/baked.ts";
import { AdamW } from "../training/adam.ts";
import { fit } from "../training/fit.ts";
import { initialise } from "../weights/initialise.ts";
import { weightsInMemory } from "../weights/weights.ts";

// One small model of each architecture, trained and asked to write: what two devices are compared by.

const shared = { layers: 1, width: 32, context: 32, vocab: 17, dropout: 0.1 };
/** One of each architecture, with as many kinds of layers as go together. */
export const smallModels: readonly ModelConfig[] = (
  [
    { model: "decoder", ...shared, heads: 4, hidden: 64, activation: "gelu", positions: "rotary" },
    { model: "encoder", ...shared, heads: 4, hidden: 64, activation: "relu", positions: "sinusoidal", labels: 3 },
    { model: "encoder-decoder", ...shared, heads: 4, hidden: 64, activation: "swiglu", norm: "rms", positions: "relative" },
    { model: "rnn", ...shared, cell: "gru" },
  ] as readonly ModelInput[]
).map((given) => modelConfig(given));

/** Four batches of ids that come again and again: something to learn by heart. */
function batchesFor({ inputs }: TensorFunction, { vocab, model }: ModelConfig): Batches {
  const sizes = { batch: 4, time: 12, sourceTime: 9 };
  return {
    perEpoch: 4,
    batch(index) {
      const source = chance(9).fork(index % 4);
      const feeds = Object.fromEntries(
        Object.entries(inputs).map(([name, { shape }]) => {
          const dims = shape.map((dim) => dim.bind(sizes).known);
          const most = name === "targets" && model === "encoder" ? 3 : vocab;
          const draw = source.fork(name);
          const long = "sourceTime" in inputs ? sizes.sourceTime : Math.min(sizes.sourceTime, sizes.time);
          const data = Int32Array.from({ length: elementCount(dims) }, (_, i) =>
            name === "lengths" ? long - (i % 3) : draw.integer(i, most),
          );
          return [name, array("int32", data, dims)];
        }),
      );
      return { feeds, targets: sizes.batch, tokens: sizes.batch * sizes.time, places: sizes.batch * sizes.time };
    },
  };
}

export interface Training {
  readonly steps: number;
  /** Seconds. */
  readonly clock: () => number;
  /** Whether weights stay on a device that can hold them. */
  readonly resident?: boolean;
}

/** Trains one of them from the same seed everywhere; its losses, its weights, and the milliseconds of the quickest step. */
export async function trainSmall(config: ModelConfig, device: Device, { steps, clock, resident = true }: Training) {
  const loss = modelLoss(config);
  const layout = parametersOf(loss);
  const optimizer = new AdamW(layout, { clip: 1, weightDecay: 0.1 });
  initialise(layout, chance(5), optimizer.weights);
  const losses: number[] = [];
  let best = Number.POSITIVE_INFINITY;
  const settings = { steps, learningRate: () => 3e-3, chance: chance(3), device, resident, clock };
  for await (const report of fit(loss, optimizer, batchesFor(loss, config), settings)) {
    if (report.kind !== "step") continue;
    losses.push(report.loss);
    best = Math.min(best, report.seconds);
    await pause();
  }
  return { losses, weights: optimizer.weights, ms: 1000 * best };
}

/** Whether there is something to write. */
export const writes = ({ model }: ModelConfig): boolean => model !== "encoder";

/** Tokens that each of two rows writes. */
export const written = 16;

/** The likeliest tokens one after the other, of two rows, with the scores of all tokens that might have come. */
export async function writeSmall(config: ModelConfig, weights: ParameterBuffer, device: Device, clock: () => number) {
  const source = Int32Array.of(3, 1, 4, 1, 5);
  const speaker = speakerOf(config, baked(weightsInMemory(weights), device));
  try {
    const speech = speaker.begin();
    const reads = config.model === "encoder-decoder" || (config.model === "rnn" && config.task === "translate");
    let next = await speech.join([
      { ids: Int32Array.of(1, 2, 3), ...(reads && { source }) },
      { ids: Int32Array.of(7, 5), ...(reads && { source }) },
    ]);
    const ids: number[] = [];
    const scores: number[] = [];
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < written; i++) {
      const chosen = next.map((one) => one.scores.indexOf(Math.max(...one.scores)));
      ids.push(...chosen);
      scores.push(...next.flatMap((one) => [...one.scores]));
      const begin = clock();
      next = await speech.next(chosen);
      best = Math.min(best, clock() - begin);
    }
    return { ids, scores, tokensPerSecond: 2 / best };
  } finally {
    await speaker.release();
  }
}
