import { describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { finiteDifference, gradientGap } from "../../src/gradients/finite-difference.ts";
import { graphNodes, tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { int32 } from "../../src/graph/type.ts";
import { attention } from "../../src/layers/attention.ts";
import { decoderConfig } from "../../src/models/config.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { compile } from "../../src/node/device.ts";
import { embedding, mean, square } from "../../src/ops/index.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { initialise } from "../../src/weights/initialise.ts";

const config = { layers: 2, heads: 2, width: 8, context: 6, vocab: 7 };
const loss = decoderLoss(config);
const tokens = (shape: number[], step: number) =>
  array(
    "int32",
    Int32Array.from({ length: shape[0] * shape[1] }, (_, i) => (i * step + 1) % 7),
    shape,
  );

describe("a decoder's training step", () => {
  it("has 809,856 and 10,770,816 parameters at the two benchmark sizes", () => {
    const count = (layers: number, heads: number, width: number, context: number) =>
      parametersOf(decoderLoss({ layers, heads, width, context, vocab: 65 })).total;
    expect([count(4, 4, 128, 64), count(6, 6, 384, 256)]).toEqual([809_856, 10_770_816]);
  });

  it("is the same with sizes bound and left open: loss and every gradient", async () => {
    const weights = initialise(parametersOf(loss), chance(1));
    const [bound, open] = [compile(loss, { gradientOf: "loss" }), compile(loss, { gradientOf: "loss", symbols: "open" })];
    for (const shape of [
      [2, 6],
      [3, 4],
      [1, 1],
    ]) {
      const feeds = { ids: tokens(shape, 3), targets: tokens(shape, 5) };
      const [a, b] = [new ParameterBuffer(weights.layout), new ParameterBuffer(weights.layout)];
      const [x, y] = [await bound.run(feeds, { weights, gradients: a }), await open.run(feeds, { weights, gradients: b })];
      expect(y.loss.data[0]).toBeCloseTo(Number(x.loss.data[0]), 5);
      expect(gradientGap(a.data, b.data)).toBeLessThan(1e-5);
    }
    expect([bound.sessionCount, open.sessionCount]).toEqual([3, 1]);
  });

  it("refuses, with sizes left open, a sequence longer than its learned positions", async () => {
    const weights = initialise(parametersOf(loss), chance(1));
    const open = compile(loss, { symbols: "open" });
    const run = open.run({ ids: tokens([1, 7], 3), targets: tokens([1, 7], 3) }, { weights });
    await expect(run).rejects.toThrow("at decoder/positions: slice reaches to time = 7, but there are only 6");
  });

  it("repeats exactly at a size that is split over threads", async () => {
    const big = decoderLoss({ layers: 2, heads: 4, width: 128, context: 64, vocab: 65 });
    const weights = initialise(parametersOf(big), chance(1));
    const step = compile(big, { gradientOf: "loss", threads: 2 });
    const feeds = { ids: tokens([12, 64], 3), targets: tokens([12, 64], 5) };
    const first = new ParameterBuffer(weights.layout);
    const value = (await step.run(feeds, { weights, gradients: first })).loss.data[0];
    for (let i = 0; i < 5; i++) {
      const again = new ParameterBuffer(weights.layout);
      expect((await step.run(feeds, { weights, gradients: again })).loss.data[0]).toBe(value);
      expect(Buffer.from(again.data.buffer).equals(Buffer.from(first.data.buffer))).toBe(true);
    }
  });
});

describe("a loss", () => {
  const first = tokens([2, 5], 3);
  const value = async (options: Parameters<typeof decoderLoss>[1], targets: HostArray, dropout = 0) => {
    const fn = decoderLoss({ ...config, dropout }, options);
    const weights = initialise(parametersOf(fn), chance(1));
    return Number((await compile(fn, { outputs: ["loss"] }).run({ ids: first, targets }, { weights, chance: chance(1) })).loss.data[0]);
  };

  it("drops in training unless it is told otherwise, whatever else is asked for", async () => {
    const plain = await value({ training: false }, first, 0.5);
    expect(await value({}, first, 0.5)).not.toBe(plain);
    expect(await value({ smoothing: 0 }, first, 0.5)).not.toBe(plain);
    expect(await value({}, first, 0)).toBeCloseTo(plain, 6);
  });

  it("does not count targets of −1, or another number, or counts all", async () => {
    const targets = (last: number) => array("int32", Int32Array.from([...(first.data as Int32Array).slice(0, 9), last]), [2, 5]);
    expect(await value({}, targets(-1))).toBeCloseTo(await value({ ignore: 99 }, targets(99)), 6);
    expect(await value({ ignore: null }, targets(2))).not.toBeCloseTo(await value({}, targets(-1)), 6);
  });
});

describe("attention in query blocks", () => {
  const withPositions = (positions: "none" | "alibi" | "relative" | "rotary", width: number, dropout = 0, more: object = {}) =>
    tensorFunction({ ids: int32(["batch", "time"]) }, (p, { ids }) => {
      const config = decoderConfig({ heads: 2, width, vocab: 7, positions, dropout, ...more });
      const y = attention(p.at("attention"), embedding(p.param("table", [7, width]), ids), config, { causal: true });
      return { y, loss: mean(square(y)) };
    });

  it.each([
    ["none", 256, 0, {}],
    ["none", 512, 0, {}],
    ["alibi", 256, 0, {}],
    ["relative", 512, 0, {}],
    ["rotary", 256, 0, {}],
    ["none", 128, 0.3, {}],
    ["relative", 256, 0.3, {}],
    ["rotary", 512, 0.6, {}],
    ["alibi", 256, 0, { kvHeads: 1, window: 40, scoreCap: 1 }],
    ["rotary", 256, 0.3, { kvHeads: 1, window: 200, scoreCap: 0.5, ropeShare: 0.5, qkNorm: true, scale: 0.9, bias: "none" }],
  ] as const)(
    "equals the steps in the open, outputs and gradients: %s positions, %i long, dropout %d, %j",
    async (positions, length, dropout, more) => {
      const fn = withPositions(positions, 8, dropout, more);
      const weights = initialise(parametersOf(fn), chance(3));
      for (const [i] of weights.data.entries()) weights.data[i] *= 2; // scores that matter
      const ids = tokens([2, length], 3);
      const [a, b] = [new ParameterBuffer(weights.layout), new ParameterBuffer(weights.layout)];
      const blocks = compile(fn, { gradientOf: "loss" });
      const names = graphNodes(await blocks.graph({ batch: 2, time: length })).map(({ op }) => op.name);
      expect(names.filter((name) => name === "attend").length).toBe(length / 128); // there are blocks
      const found = await blocks.run({ ids }, { weights, gradients: a, chance: chance(4) });
      const steps = compile(fn, { gradientOf: "loss", taps: ["attention/pattern"] });
      const open = await steps.run({ ids }, { weights, gradients: b, chance: chance(4) });
      expect(open["attention/pattern"].shape).toEqual([2, 2, length, length]);
      expect(gradientGap(found.y.data as Float32Array, open.y.data as Float32Array)).toBeLessThan(1e-5);
      expect(gradientGap(a.data, b.data)).toBeLessThan(1e-5);
    },
  );

  it("has gradients that agree with finite differences with grouped queries, capped scores, norms of heads and a window", async () => {
    const options = { float: "float64" as const };
    const more = { kvHeads: 1, window: 3, scoreCap: 0.8, qkNorm: true, scale: 0.9, bias: "qkv" };
    const fn = withPositions("relative", 4, 0.3, more);
    const weights = initialise(parametersOf(fn, options), chance(3));
    for (const [i] of weights.data.entries()) weights.data[i] += 0.3 * Math.sin(i); // scores that matter
    const step = compile(fn, { ...options, gradientOf: "loss", outputs: ["loss"], threads: 1 });
    const gradients = new ParameterBuffer(weights.layout);
    const ids = tokens([2, 6], 3);
    const value = async (_: readonly HostArray[]) =>
      Number((await step.run({ ids }, { weights, gradients, chance: chance(4) })).loss.data[0]);
    await value([]);
    const exact = gradients.data.slice();
    const all = { dtype: "float64" as const, shape: [weights.data.length], data: weights.data };
    expect(gradientGap(exact, await finiteDifference(value, [all], 0, 1e-4))).toBeLessThan(1e-6);
  });

  it.each([0, 0.4])("has gradients that agree with finite differences in float64, with dropout %d", async (dropout) => {
    const small = withPositions("relative", 4, dropout);
    const options = { float: "float64" as const };
    const weights = initialise(parametersOf(small, options), chance(3));
    const step = compile(small, { ...options, gradientOf: "loss", outputs: ["loss"], threads: 1 });
    const gradients = new ParameterBuffer(weights.layout);
    const ids = tokens([1, 256], 3); // two blocks
    const value = async (_: readonly HostArray[]) =>
      Number((await step.run({ ids }, { weights, gradients, chance: chance(4) })).loss.data[0]);
    await value([]);
    const exact = gradients.data.slice();
    const all = { dtype: "float64" as const, shape: [weights.data.length], data: weights.data };
    expect(gradientGap(exact, await finiteDifference(value, [all], 0, 1e-3))).toBeLessThan(1e-6);
  });
});
