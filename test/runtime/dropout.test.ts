import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import type { NoiseKind } from "../../src/graph/scope.ts";
import type { Feature } from "../../src/graph/target.ts";
import { type Architecture, modelConfig, modelLoss } from "../../src/models/any.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { compile, parametersOf } from "../../src/runtime/compile.ts";
import type { Device } from "../../src/runtime/device.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { trainingFeeds } from "../support/feeds.ts";

// Dropout by flags drops what dropout by bytes drops, and has the same bits in both ways in which it is written.

const sizes = { width: 24, heads: 3, layers: 2, context: 40, vocab: 20, dropout: 0.2 } as const;
const models: Readonly<Record<string, Architecture>> = {
  "a decoder": modelConfig({ model: "decoder", ...sizes }),
  "capped scores and learned distances": modelConfig({ model: "decoder", ...sizes, positions: "relative", scoreCap: 5 }),
  "an encoder of texts": modelConfig({ model: "encoder", ...sizes, task: "classify", labels: 3 }),
  "an encoder and a decoder": modelConfig({ model: "encoder-decoder", ...sizes, positions: "learned" }),
  "an RNN": modelConfig({ model: "rnn", task: "translate", cell: "gru", width: 24, layers: 2, context: 40, vocab: 20, dropout: 0.2 }),
};
const batch = { batch: 3, time: 20, sourceTime: 17 };

interface Way {
  readonly noise: NoiseKind;
  /** What the engine is said not to have. */
  readonly lacks?: Feature;
  readonly recomputePattern?: boolean;
  /** Another step, other noise. */
  readonly step?: number;
}

async function trained(model: Architecture, { noise, lacks, recomputePattern, step = 0 }: Way) {
  const fn = modelLoss(model);
  const layout = parametersOf(fn);
  const compiled = compile(fn, {
    device: lacking(nodeDevice({ threads: 2 }), lacks),
    gradientOf: "loss",
    outputs: ["loss"],
    noise,
    keeps: recomputePattern ? "all but patterns" : "everything",
  });
  const gradients = new ParameterBuffer(layout);
  const feeds = trainingFeeds(model, batch, (row) => 10 + row);
  const { loss } = await compiled.run(feeds, { weights: initialise(layout, chance(1)), gradients, chance: chance(5, "quick").fork(step) });
  await compiled.release();
  return { loss: loss.data[0] as number, gradients: Array.from(gradients.data) };
}

const lacking = (device: Device, feature: Feature | undefined): Device => ({
  ...device,
  engine: { ...device.engine, can: (wanted) => wanted !== feature && device.engine.can(wanted) },
});

const distance = (a: readonly number[], b: readonly number[]): number =>
  Math.hypot(...a.map((value, i) => value - b[i])) / Math.hypot(...b);

describe.each(Object.entries(models))("%s", (_, model) => {
  it("learns the same from flags as from bytes, up to rounding", async () => {
    const [flags, bytes, others] = [
      await trained(model, { noise: "flags" }),
      await trained(model, { noise: "bytes" }),
      await trained(model, { noise: "flags", step: 1 }),
    ];
    expect(flags.loss).toBeCloseTo(bytes.loss, 5);
    expect(distance(flags.gradients, bytes.gradients)).toBeLessThan(1e-5);
    expect(distance(others.gradients, flags.gradients)).toBeGreaterThan(1e-2);
  });

  it("has the same bits where bytes are made numbers first", async () => {
    expect(await trained(model, { noise: "flags", lacks: "byte-scales" })).toEqual(await trained(model, { noise: "flags" }));
  });
});

it("where patterns are computed again, what was dropped is dropped again", async () => {
  const kept = await trained(models["a decoder"], { noise: "flags" });
  const again = await trained(models["a decoder"], { noise: "flags", recomputePattern: true });
  expect(again).toEqual(kept);
});
