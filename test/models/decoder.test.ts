import { describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { finiteDifference, gradientGap } from "../../src/gradients/finite-difference.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { int32 } from "../../src/graph/type.ts";
import { attention } from "../../src/layers/attention.ts";
import { decoderConfig } from "../../src/models/config.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { embedding, mean, square } from "../../src/ops/index.ts";
import { compile, parametersOf } from "../../src/runtime/compile.ts";
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

describe("attention in query blocks", () => {
  const fn = tensorFunction({ ids: int32(["batch", "time"]) }, (p, { ids }) => {
    const y = attention(
      p.at("attention"),
      embedding(p.param("table", [7, 8]), ids),
      decoderConfig({ heads: 2, vocab: 7, positions: "none" }),
    );
    return { y, loss: mean(square(y)) };
  });

  it("equals the steps in the open, outputs and gradients, at a length that has several blocks", async () => {
    const weights = initialise(parametersOf(fn), chance(3));
    for (const [i] of weights.data.entries()) weights.data[i] *= 2; // scores that matter
    const ids = tokens([2, 512], 3);
    const [a, b] = [new ParameterBuffer(weights.layout), new ParameterBuffer(weights.layout)];
    const blocks = await compile(fn, { gradientOf: "loss" }).run({ ids }, { weights, gradients: a });
    const open = await compile(fn, { gradientOf: "loss", taps: ["attention/pattern"] }).run({ ids }, { weights, gradients: b });
    expect(open["attention/pattern"].shape).toEqual([2, 2, 512, 512]);
    expect(gradientGap(blocks.y.data as Float32Array, open.y.data as Float32Array)).toBeLessThan(1e-5);
    expect(gradientGap(a.data, b.data)).toBeLessThan(1e-5);
  });

  it("has gradients that agree with finite differences in float64", async () => {
    const small = tensorFunction({ ids: int32(["batch", "time"]) }, (p, { ids }) => {
      const x = embedding(p.param("table", [7, 4]), ids);
      return { loss: mean(square(attention(p.at("attention"), x, decoderConfig({ heads: 2, vocab: 7, positions: "none" })))) };
    });
    const options = { float: "float64" as const };
    const weights = initialise(parametersOf(small, options), chance(3));
    for (const [i] of weights.data.entries()) weights.data[i] *= 2;
    const step = compile(small, { ...options, gradientOf: "loss", threads: 1 });
    const gradients = new ParameterBuffer(weights.layout);
    const ids = tokens([1, 256], 3); // two blocks
    const value = async (_: readonly HostArray[]) => Number((await step.run({ ids }, { weights, gradients })).loss.data[0]);
    await value([]);
    const exact = gradients.data.slice();
    const all = { dtype: "float64" as const, shape: [weights.data.length], data: weights.data };
    expect(gradientGap(exact, await finiteDifference(value, [all], 0, 1e-3))).toBeLessThan(1e-6);
  });
});
