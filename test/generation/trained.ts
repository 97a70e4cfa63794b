import { array, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import type { ParameterBuffer } from "../../src/graph/parameters.ts";
import { type ModelConfig, modelLoss } from "../../src/models/any.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { AdamW } from "../../src/training/adam.ts";
import { initialise } from "../../src/weights/initialise.ts";

/** The weights of a small model after a few hundred steps. */
export async function trained(
  model: ModelConfig,
  steps: number,
  batch: (step: number) => Record<string, HostArray>,
): Promise<ParameterBuffer> {
  const fn = modelLoss(model);
  const optimizer = new AdamW(parametersOf(fn), { beta2: 0.99, clip: 1 });
  const { weights, gradients } = optimizer;
  initialise(weights.layout, chance(1), weights);
  const step = compile(fn, { gradientOf: "loss", outputs: ["loss"], threads: 1 });
  for (let i = 1; i <= steps; i++) {
    await step.run(batch(i) as never, { weights, gradients });
    await optimizer.step(5e-3 * Math.min(1, i / 20) * (1 - i / (steps + 1)));
  }
  await step.release();
  return weights;
}

export const table = (rows: readonly (readonly number[])[]): HostArray =>
  array("int32", Int32Array.from(rows.flat()), [rows.length, rows[0].length]);
