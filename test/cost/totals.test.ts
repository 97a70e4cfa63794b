import { describe, expect, it } from "vitest";
import type { ModelCost } from "../../src/cost/cost.ts";
import { lectureNotes, lectureRows } from "../../src/cost/lecture.ts";
import { adamw } from "../../src/cost/optimizer.ts";
import { phaseNames, phaseOf } from "../../src/cost/phases.ts";
import { published, trainingTotal } from "../../src/cost/training.ts";
import { graphCost } from "../../src/graph/cost.ts";
import { cost } from "../../src/library/here.ts";
import { type ModelConfig, type ModelInput, modelConfig } from "../../src/models/any.ts";
import { decoderPresets } from "../../src/models/presets.ts";
import { compile } from "../../src/node/device.ts";

const gpt = (name: string): ModelConfig => modelConfig({ model: "decoder", ...decoderPresets[name] });
const sizes = { layers: 2, heads: 4, width: 24, context: 20, vocab: 11 };
const models: readonly ModelInput[] = [
  { model: "decoder", ...sizes, dropout: 0.1 },
  { model: "encoder", ...sizes, labels: 3 },
  { model: "encoder-decoder", ...sizes, positions: "rotary", norm: "rms", activation: "swiglu" },
  { model: "rnn", width: 12, vocab: 11, context: 20, bidirectional: true },
];
const extent = { batch: 2, length: 8, sourceLength: 6, decode: 5 };
const part = (found: ModelCost, name: string) => found.phases.training?.parts.find((one) => one.name === name);

describe("a cost is that of the graph that runs", () => {
  it.each(models.map((given) => [given.model, given] as const))("%s: parts, operations and layers add up", async (_, given) => {
    const config = modelConfig(given);
    const found = await cost(config, extent);
    for (const name of phaseNames) {
      const phase = phaseOf(name, config, extent);
      const counted = found.phases[name];
      if (!phase || !counted) continue;
      const graph = await compile(phase.fn, phase.options).graph(phase.options.symbols === "open" ? {} : phase.sizes);
      const { flops, bytes } = graphCost(graph);
      const optimizer = name === "training" ? found.parameters : 0;
      expect(counted.flops, name).toBe(flops.bind(phase.sizes).known + adamw.flops * optimizer);
      expect(counted.bytes, name).toBe(bytes.bind(phase.sizes).known + adamw.bytes * optimizer);
      for (const shares of [counted.parts, counted.operations, counted.layers]) {
        expect(shares.reduce((total, share) => total + share.flops, 0)).toBe(counted.flops);
        expect(shares.reduce((total, share) => total + share.bytes, 0)).toBe(counted.bytes);
      }
      expect(counted.intensity).toBe(counted.flops / counted.bytes);
    }
  });

  it("a step of Muon has the products that make each matrix orthogonal, and AdamW for the rest", async () => {
    const config = modelConfig({ model: "decoder", ...sizes });
    const [usual, found] = [await cost(config, extent), await cost(config, { ...extent, optimizer: "muon" })];
    const [width, layers] = [24, 2];
    // Three iterations: a square matrix takes nine products of its side; one four times as long two with its long side, and nine of its short one.
    const cube = 2 * width ** 3;
    const products = layers * (4 * 9 * cube + 2 * (2 * 4 + 9) * cube);
    expect(part(found, "optimizer")?.products).toBe(products);
    const [before, after] = [part(usual, "optimizer")?.flops ?? 0, part(found, "optimizer")?.flops ?? 0];
    expect(before).toBe(adamw.flops * usual.parameters);
    expect(after).toBeGreaterThan(products);
    expect(after).toBeLessThan(1.3 * products + before);
    const named = (of: ModelCost) =>
      of.phases.training?.operations.filter(({ name }) => ["adamw", "muon"].includes(name)).map(({ name }) => name);
    expect([named(usual), named(found)]).toEqual([["adamw"], ["muon", "adamw"]]);
    expect(found.phases.training?.flops).toBe((usual.phases.training?.flops ?? 0) - before + after);
  });

  it("refuses lengths that a learned table has no positions for", async () => {
    await expect(cost(modelConfig({ model: "decoder", ...sizes }), { length: 21 })).rejects.toThrow(
      "a length of 21 is more than the 20 positions that the model learns",
    );
  });
});

describe("the cache", () => {
  const kept = async (given: ModelInput, options: object) => (await cost(modelConfig(given), { ...options, phases: [] })).kvCacheBytes;

  it("holds 2 · time · width · layers numbers for each sequence", async () => {
    expect(await kept({ model: "decoder", ...sizes }, { batch: 3, decode: 7 })).toBe(3 * 2 * 7 * 24 * 2 * 4);
  });

  it("follows the sizes of keys and values, and wide heads", async () => {
    expect(await kept({ model: "decoder", ...sizes, keySize: 5, valueSize: 3 }, { decode: 7 })).toBe(7 * 4 * (5 + 3) * 2 * 4);
    expect(await kept({ model: "decoder", ...sizes, multiHead: "wide" }, { decode: 7 })).toBe(2 * 7 * 24 * 4 * 2 * 4);
  });

  it("has the keys and values of the source too", async () => {
    expect(await kept({ model: "encoder-decoder", ...sizes }, { decode: 7, sourceLength: 9 })).toBe(2 * (7 + 9) * 24 * 2 * 4);
  });

  it("is empty where the future changes the past; an RNN keeps its states, and the source's", async () => {
    expect(await kept({ model: "decoder", ...sizes, mask: "none" }, {})).toBe(0);
    expect(await kept({ model: "rnn", width: 12, vocab: 11, layers: 2, cell: "lstm" }, { batch: 3, sourceLength: 9 })).toBe(
      3 * (2 * 2 + 9) * 12 * 4,
    );
  });
});

describe("the GPT-3 table", () => {
  it.each(Object.keys(published))("%s has the published parameters within 2 %%", async (name) => {
    const found = await cost(gpt(name), { phases: [] });
    expect(Math.abs(found.parameters / published[name].parameters - 1)).toBeLessThan(0.02);
  });

  it("175B trains on 300 billion tokens with the published FLOPs within 5 %, and the arithmetic adds up", async () => {
    const found = await cost(gpt("gpt3-175b"), { phases: ["training"] });
    const total = trainingTotal(found, 300e9);
    if (!total) throw new Error("a decoder has a training total");
    expect(total.flops / (published["gpt3-175b"].flops ?? 0)).toBeCloseTo(1.019, 3);
    expect(total.estimate).toBe(6 * 174_604_259_328 * 300e9);
    expect((total.estimate + total.pairs + total.rest + total.unmultiplied) / total.flops).toBeCloseTo(1, 12);
    // 14 · layers · width · time for each token, since large patterns are computed again, of which causal blocks compare 9/16
    expect(total.pairs / (300e9 * 14 * 96 * 12288 * 2048 * (9 / 16))).toBeCloseTo(1, 12);
    expect(part(found, "feed-forward")?.parameters).toBeGreaterThan(0.6 * found.parameters);
    expect(part(found, "feed-forward")?.flops).toBeGreaterThan(0.6 * (found.phases.training?.flops ?? 0));
  });

  it("says the same of tokens whatever optimizer moves the weights, though Muon multiplies them", async () => {
    const totals = await Promise.all(
      (["adamw", "muon"] as const).map(async (optimizer) =>
        trainingTotal(await cost(gpt("w1"), { phases: ["training"], batch: 1, optimizer }), 1e6),
      ),
    );
    expect(totals[0]?.unmultiplied).toBeDefined();
    expect(totals[1]).toEqual(totals[0]);
  });

  it("is for language models", async () => {
    expect(trainingTotal(await cost(modelConfig(models[1]), extent), 1e9)).toBeUndefined();
  });
});

describe("the lecture's table", () => {
  it("hides a factor of 6 in the projections, 2 in scores, and 24 in all of a block that is wide and short", async () => {
    const found = await cost(modelConfig({ model: "decoder", ...sizes, width: 480 }), { batch: 3, length: 4 });
    const factors = lectureRows(found, "sequence").map(({ step, lecture, formula, counted }) => [
      step,
      counted / lecture,
      counted === formula,
    ]);
    expect(factors.slice(0, 5)).toEqual([
      ["projections", 6, true],
      ["scores", 2, true],
      ["weighted sum", 2, true],
      ["output projection", 2, true],
      ["feed-forward", 1, true],
    ]);
    expect(factors[5][1]).toBeCloseTo((24 * 480 + 4 * 4) / (480 + 4), 10);
    expect(lectureRows(found, "token").map(({ order }) => order)).toEqual([
      "O(b d²)",
      "O(b n d)",
      "O(b n d)",
      "O(b d²)",
      "O(16 b d²)",
      "O(b d² + b n d)",
    ]);
  });

  it("moves 2bnd + bhn² numbers for scores, exactly", async () => {
    const found = await cost(modelConfig({ model: "decoder", ...sizes }), { batch: 3, length: 8 });
    const scores = lectureRows(found, "sequence").find(({ step }) => step === "scores");
    expect(scores?.traffic).toMatchObject({ lecture: 2 * (2 * 3 * 8 * 24 + 3 * 4 * 64), counted: 2 * (2 * 3 * 8 * 24 + 3 * 4 * 64) });
  });

  it("says why counts differ", async () => {
    const found = await cost(modelConfig({ model: "decoder", ...sizes, context: 512, activation: "swiglu", mask: "none" }));
    expect(lectureNotes(found)).toEqual([
      "swiglu has a third matrix beside the two of the feed-forward layer",
      "with this mask nothing can be kept, so a token costs the whole sequence again",
    ]);
    const causal = await cost(modelConfig({ model: "decoder", ...sizes, context: 512 }), { phases: ["training"] });
    expect(lectureNotes(causal)[0]).toBe("training compares 0.625 of all n² pairs: its 4 blocks of queries leave out the keys after them");
  });
});
