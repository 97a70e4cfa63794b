import { expect, it } from "vitest";
import { usualFlops, workloads } from "../../src/bench/workloads.ts";
import { type Phase, phaseOf } from "../../src/cost/phases.ts";
import { printGraph } from "../../src/graph/print.ts";
import { type ModelConfig, modelConfig } from "../../src/models/any.ts";
import type { DecoderConfig } from "../../src/models/config.ts";
import { decoderPresets } from "../../src/models/presets.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";

it.each<[string, number]>([
  ["w1", 12],
  ["w2", 8],
])("what is measured of %s at batch %d is what the bench measures: the same graph, the same count", async (name, batch) => {
  const config: ModelConfig = modelConfig({ model: "decoder", ...decoderPresets[name] });
  const { context: length } = config;
  const { loss, sizes, flops } = workloads.find((workload) => workload.name.toLowerCase() === name) ?? workloads[0];
  const phase = phaseOf("training", config, { batch, length, sourceLength: length, decode: length }) as Phase;
  const bench = await compile(loss, { gradientOf: "loss", outputs: ["loss"] }).graph(sizes);
  const counted = await compile(phase.fn, phase.options).graph(phase.sizes);
  expect(printGraph(counted)).toBe(printGraph(bench));
  const { total } = parametersOf(loss);
  expect(flops(total, bench)).toBe(batch * length * usualFlops(total, config as DecoderConfig, length));
});
