import { chance } from "../base/chance.ts";
import { compile, parametersOf } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { type OptimizerName, optimizer as optimizerOf } from "../training/optimizers.ts";
import { initialise } from "../weights/initialise.ts";
import { batchesOf, type Workload } from "./workloads.ts";

export interface StepOptions {
  readonly profile?: string;
  readonly optimizer?: OptimizerName;
}

/** Forward, backward and the optimizer (AdamW) with clipping, on tokens that can be learned. */
export async function trainingStep(workload: Workload, device: Device, { profile, optimizer: name = "adamw" }: StepOptions = {}) {
  const { loss, sizes, burst, symbols } = workload;
  const layout = parametersOf(loss, { bind: sizes });
  const optimizer = optimizerOf(name, layout, { beta2: 0.99, weightDecay: 0.1, clip: 1 });
  optimizer.prepare(device);
  initialise(layout, chance(1), optimizer.weights);
  const compiled = compile(loss, { gradientOf: "loss", outputs: ["loss"], device, profile, symbols, expected: sizes });
  const start = performance.now();
  await compiled.prepare(sizes);
  const compileMs = performance.now() - start;
  const flops = workload.flops(layout.total, await compiled.graph(sizes));
  const batches = batchesOf(workload, 32);
  const { weights, gradients } = optimizer;
  let steps = 0;
  const run = async (): Promise<number> => {
    const result = await compiled.run(batches[steps++ % batches.length], { weights, gradients, chance: chance(3).fork(steps) });
    await optimizer.step(1e-3);
    return Number(result.loss.data[0]);
  };
  return {
    run,
    burst,
    flops,
    weights,
    parameters: layout.total,
    compileMs,
    release: async () => {
      await compiled.release();
      await optimizer.release();
    },
    endProfiling: () => compiled.endProfiling(sizes),
  };
}
