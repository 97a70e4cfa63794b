import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { type Graph, graphNodes } from "../../src/graph/graph.ts";
import { isLeaf } from "../../src/graph/leaves.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { byteSize } from "../../src/graph/type.ts";
import { type Architecture, modelConfig, modelLoss } from "../../src/models/any.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { compile, parametersOf } from "../../src/runtime/compile.ts";
import type { Keeps } from "../../src/runtime/pipeline.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { trainingFeeds } from "../support/feeds.ts";

// Blocks that are computed again for their gradients: the same gradients, and less in memory at once.

const sizes = { width: 16, heads: 2, layers: 6, context: 16, vocab: 20 } as const;
const models: Readonly<Record<string, Architecture>> = {
  decoder: modelConfig({ model: "decoder", ...sizes, activation: "swiglu", positions: "rotary", norm: "rms", normPlace: "pre" }),
  "decoder with dropout": modelConfig({ model: "decoder", ...sizes, dropout: 0.2 }),
  "decoder with value residuals": modelConfig({ model: "decoder", ...sizes, valueResidual: true, kvHeads: 1, activation: "relu2" }),
  encoder: modelConfig({ model: "encoder", ...sizes, task: "classify", labels: 3 }),
  "encoder-decoder": modelConfig({ model: "encoder-decoder", ...sizes, layers: 3 }),
};
const device = nodeDevice({ threads: 1 });
const bound = { batch: 2, time: 12, sourceTime: 10 };

const feedsOf = (model: Architecture) => trainingFeeds(model, bound, () => 9);

/** The most bytes of computed tensors that are alive at once, in the order in which nodes were made. */
function peakOf(graph: Graph): number {
  const nodes = graphNodes(graph);
  const last = new Map<Tensor, number>();
  for (const [i, { inputs }] of nodes.entries()) for (const x of inputs) last.set(x, i);
  const ends = new Map<number, Tensor[]>();
  for (const [x, i] of last) if (!isLeaf(x.node)) ends.set(i, [...(ends.get(i) ?? []), x]);
  const bytes = (tensors: readonly Tensor[]) => tensors.reduce((sum, { type }) => sum + byteSize(type).known, 0);
  let [alive, peak] = [0, 0];
  for (const [i, node] of nodes.entries()) {
    if (!isLeaf(node)) alive += bytes(node.outputs.filter((y) => last.has(y)));
    peak = Math.max(peak, alive);
    alive -= bytes(ends.get(i) ?? []);
  }
  return peak;
}

it.each(Object.entries(models))("%s: the gradients are the same, and the peak of memory falls", async (_, model) => {
  const fn = modelLoss(model);
  const layout = parametersOf(fn);
  const weights = initialise(layout, chance(1));
  const run = async (keeps: Keeps) => {
    const compiled = compile(fn, { device, gradientOf: "loss", outputs: ["loss"], keeps });
    const gradients = new ParameterBuffer(layout);
    const { loss } = await compiled.run(feedsOf(model), { weights, gradients, chance: chance(5) });
    const used = Object.values(fn.inputs).flatMap(({ shape }) => shape.flatMap(({ symbols }) => symbols)) as (keyof typeof bound)[];
    const peak = peakOf(await compiled.graph(Object.fromEntries(used.map((symbol) => [symbol, bound[symbol]]))));
    await compiled.release();
    return { loss: Number(loss.data[0]), gradients: Array.from(gradients.data), peak };
  };
  const [kept, again] = [await run("everything"), await run("block inputs")];
  expect(again.loss).toBe(kept.loss);
  const largest = kept.gradients.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const gap = kept.gradients.reduce((most, value, i) => Math.max(most, Math.abs(value - again.gradients[i])), 0);
  expect(gap).toBeLessThan(1e-6 * largest);
  expect(again.peak).toBeLessThan(0.6 * kept.peak);
  const patterns = await run("all but patterns");
  expect([patterns.loss, patterns.gradients]).toEqual([kept.loss, kept.gradients]);
  expect(patterns.peak).toBeLessThan(kept.peak);
});

it.each(Object.entries(models))("%s: the engine computes gradients in our order, each as soon as it can", async (_, model) => {
  const ran = async (keeps: Keeps) => {
    const folder = mkdtempSync(join(tmpdir(), "qkv-order-"));
    const fn = modelLoss(model);
    const compiled = compile(fn, { device, gradientOf: "loss", outputs: ["loss"], keeps, profile: join(folder, "run") });
    const layout = parametersOf(fn);
    const run = { weights: initialise(layout, chance(1)), gradients: new ParameterBuffer(layout), chance: chance(5) };
    await compiled.run(feedsOf(model), run);
    const used = Object.values(fn.inputs).flatMap(({ shape }) => shape.flatMap(({ symbols }) => symbols)) as (keyof typeof bound)[];
    await compiled.endProfiling(Object.fromEntries(used.map((symbol) => [symbol, bound[symbol]])));
    await compiled.release();
    const events = readdirSync(folder).flatMap((file) => JSON.parse(readFileSync(join(folder, file), "utf8")));
    return events.filter(({ cat, name }) => cat === "Node" && name.endsWith("_kernel_time")).map(({ name }): string => name);
  };
  const names = await ran("block inputs");
  const sizes = names.flatMap((name, i) => (/after\.\d/.test(name) ? [{ place: Number(/after\.(\d+)/.exec(name)?.[1]), i }] : []));
  expect(sizes.length).toBeGreaterThan(20);
  expect(sizes.map(({ place }) => place)).toEqual(sizes.map((_, i) => i));
  expect(sizes[0].i).toBeLessThan(0.7 * names.length); // most of the way back is still to come
  expect((await ran("everything")).some((name) => name.includes("after."))).toBe(false);
});
