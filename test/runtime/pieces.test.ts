import { expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { graphNodes } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { type Architecture, modelConfig, modelLoss } from "../../src/models/any.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { compile, parametersOf } from "../../src/runtime/compile.ts";
import type { PipelineOptions } from "../../src/runtime/pipeline.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { trainingFeeds } from "../support/feeds.ts";

// Large patterns of attention are computed example by example: which ones, and that it changes no bit.

const sizes = { width: 32, heads: 4, layers: 2, context: 48, vocab: 20 } as const;
const models: Readonly<Record<string, Architecture>> = {
  "texts of several lengths, dropout": modelConfig({ model: "encoder", ...sizes, task: "classify", labels: 3, dropout: 0.2 }),
  "learned distances": modelConfig({ model: "decoder", ...sizes, positions: "relative" }),
  "distances, heads that share keys, dropout": modelConfig({ model: "decoder", ...sizes, positions: "alibi", kvHeads: 2, dropout: 0.1 }),
  "capped scores": modelConfig({ model: "decoder", ...sizes, positions: "rotary", scoreCap: 5 }),
  "an encoder and a decoder": modelConfig({ model: "encoder-decoder", ...sizes, positions: "learned" }),
};
const device = nodeDevice({ threads: 4 });
const small = { batch: 3, time: 40, sourceTime: 33 };
const large = { batch: 64, time: 160, sourceTime: 160 };

const feedsOf = (model: Architecture) => trainingFeeds(model, small, (row) => 21 + row);

async function trained(model: Architecture, expected?: PipelineOptions["expected"]) {
  const fn = modelLoss(model);
  const layout = parametersOf(fn);
  const compiled = compile(fn, { device, gradientOf: "loss", outputs: ["loss"], symbols: "open", expected });
  const gradients = new ParameterBuffer(layout);
  const { loss } = await compiled.run(feedsOf(model), { weights: initialise(layout, chance(1)), gradients, chance: chance(5) });
  const names = graphNodes(await compiled.graph({})).map(({ op }) => op.name);
  await compiled.release();
  const count = (wanted: string) => names.filter((name) => name === wanted).length;
  return {
    loss: loss.data[0],
    gradients: Array.from(gradients.data),
    whole: count("attend"),
    each: [count("attendEach"), count("attendEachBack")],
  };
}

it.each(Object.entries(models))("%s: example by example, gradients are the same to the bit", async (_, model) => {
  const [whole, each] = [await trained(model, small), await trained(model, large)];
  expect(whole.each).toEqual([0, 0]);
  expect([each.whole, each.each]).toEqual([0, [whole.whole, whole.whole]]);
  expect(whole.whole).toBeGreaterThanOrEqual(sizes.layers);
  expect(each.loss).toBe(whole.loss);
  expect(each.gradients).toEqual(whole.gradients);
  expect(whole.gradients.some((value) => value !== 0)).toBe(true);
});

it("leaves alone what threads would divide differently: heads of more numbers than there are queries, or of more than 128", async () => {
  const wide = (heads: number, width: number) => modelConfig({ model: "encoder", ...sizes, heads, width, task: "classify", labels: 3 });
  expect((await trained(wide(1, 128), { ...large, time: 1000 })).each).toEqual([2, 2]);
  expect((await trained(wide(1, 128), { ...large, batch: 1000, time: 127 })).each).toEqual([0, 0]);
  expect((await trained(wide(1, 160), { ...large, time: 1000 })).each).toEqual([0, 0]);
});

it("gives the gradient of scores to nobody who does not learn from it", async () => {
  const model = modelConfig({ model: "decoder", ...sizes, positions: "relative" });
  const outputs = async (gradientsFor?: readonly string[]) => {
    const compiled = compile(modelLoss(model), {
      device,
      gradientOf: "loss",
      outputs: ["loss"],
      symbols: "open",
      expected: large,
      gradientsFor,
    });
    const backs = graphNodes(await compiled.graph({})).filter(({ op }) => op.name === "attendEachBack");
    await compiled.release();
    return backs.map((node) => node.outputs.length);
  };
  expect(await outputs()).toEqual([4, 4]);
  expect(await outputs(["decoder/block.0/attention/qkv/weight"])).toEqual([3, 3]);
});

it("is for patterns of 16 MiB and more, where gradients are wanted", async () => {
  const model = modelConfig({ model: "encoder", ...sizes, context: 512, task: "classify", labels: 3 });
  const opsOf = async (bind: { batch: number; time: number }, gradientOf?: "loss") => {
    const compiled = compile(modelLoss(model), { device, outputs: ["loss"], ...(gradientOf && { gradientOf }) });
    const names = graphNodes(await compiled.graph(bind)).map(({ op }) => op.name);
    await compiled.release();
    return [names.includes("attend"), names.includes("attendEach")];
  };
  expect(await opsOf({ batch: 4, time: 512 }, "loss")).toEqual([false, true]); // 4 examples, 4 heads, 512 × 512 numbers of 4 bytes
  expect(await opsOf({ batch: 4, time: 511 }, "loss")).toEqual([true, false]);
  expect(await opsOf({ batch: 4, time: 512 })).toEqual([true, false]);
});
