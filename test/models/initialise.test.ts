import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import type { ParameterBuffer } from "../../src/graph/parameters.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { encoderDecoderLoss } from "../../src/models/encoder-decoder.ts";
import { rnnLoss } from "../../src/models/rnn.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { initialise } from "../../src/weights/initialise.ts";

const spread = (data: ArrayLike<number>) => Math.sqrt(Array.from(data).reduce((sum, x) => sum + x * x, 0) / data.length);
const bytesOf = (weights: ParameterBuffer, name: string) => {
  const { data } = weights.view(name);
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
};
const sizes = { layers: 8, heads: 4, width: 64, context: 32, vocab: 100 };

describe("initial weights", () => {
  it("are the same bits for the same seed, others for another, and do not depend on what else there is", () => {
    const layout = parametersOf(decoderLoss(sizes));
    const [a, b, c] = [initialise(layout, chance(1)), initialise(layout, chance(1)), initialise(layout, chance(2))];
    expect(Buffer.from(a.data.buffer).equals(Buffer.from(b.data.buffer))).toBe(true);
    expect(Buffer.from(a.data.buffer).equals(Buffer.from(c.data.buffer))).toBe(false);
    const untied = initialise(parametersOf(decoderLoss({ ...sizes, tie: false, norm: "rms" })), chance(1));
    expect(untied.view("decoder/block.3/attention/qkv/weight").data).toEqual(a.view("decoder/block.3/attention/qkv/weight").data);
  });

  it("are GPT-2's before a norm: 0.02, and 0.02/√(2·layers) into the residual stream", () => {
    const weights = initialise(parametersOf(decoderLoss(sizes)), chance(1));
    const of = (name: string) => spread(weights.view(`decoder/${name}`).data as Float32Array);
    for (const name of ["tokens", "positions/table", "block.2/attention/qkv/weight", "block.2/feedforward/expand/weight"])
      expect(of(name) / 0.02).toBeCloseTo(1, 1);
    for (const name of ["block.2/attention/out/weight", "block.2/feedforward/contract/weight"])
      expect(of(name) / (0.02 / 4)).toBeCloseTo(1, 1);
    expect(of("block.2/attention/qkv/bias")).toBe(0);
    expect(of("block.2/norm1/scale")).toBe(1);
  });

  it("are Glorot's after a norm, as in the paper, with embeddings of 1/√width beside sinusoids", () => {
    const weights = initialise(
      parametersOf(encoderDecoderLoss({ ...sizes, layers: 1, normPlace: "post", positions: "sinusoidal" })),
      chance(1),
    );
    const of = (name: string) => spread(weights.view(`model/${name}`).data as Float32Array);
    expect(of("encoder/block.0/feedforward/expand/weight") / Math.sqrt(2 / (64 + 256))).toBeCloseTo(1, 1);
    expect(of("tokens") * 8).toBeCloseTo(1, 1);
  });

  it("of joined positions and of each of q, k, v are Glorot's for their own matrix", () => {
    const weights = initialise(parametersOf(decoderLoss({ ...sizes, layers: 1, normPlace: "post", joinPositions: "concat" })), chance(1));
    const of = (name: string) => spread(weights.view(`decoder/${name}`).data as Float32Array);
    expect(of("positions/join/weight") / Math.sqrt(2 / (128 + 64))).toBeCloseTo(1, 1);
    expect(of("block.0/attention/qkv/weight") / Math.sqrt(2 / (64 + 64))).toBeCloseTo(1, 1);
  });

  it("count three branches where there is cross-attention, and stay alive without norms or residuals", () => {
    const pair = initialise(parametersOf(encoderDecoderLoss({ ...sizes, layers: 3 })), chance(1));
    expect(spread(pair.view("model/decoder/block.0/cross/out/weight").data as Float32Array) / (0.02 / 3)).toBeCloseTo(1, 1);
    const bare = initialise(parametersOf(decoderLoss({ ...sizes, norm: "none", residual: false })), chance(1));
    expect(spread(bare.view("decoder/block.0/attention/out/weight").data as Float32Array)).toBeGreaterThan(0.1);
  });

  it("into the residual stream are 0 if they are to be, and all others keep their bits", () => {
    const options = { ...sizes, layers: 2, tie: false };
    const [usual, zero] = [false, true].map((zeroInit) =>
      initialise(parametersOf(encoderDecoderLoss({ ...options, zeroInit })), chance(1)),
    );
    expect([...zero.views.keys()]).toEqual([...usual.views.keys()]);
    const changed = [...zero.views].filter(([name]) => !bytesOf(zero, name).equals(bytesOf(usual, name)));
    for (const [name, { data }] of changed) expect([name, spread(data as Float32Array)]).toEqual([name, 0]);
    const blocks = [0, 1].flatMap((i) => [
      `model/encoder/block.${i}/attention/out/weight`,
      `model/encoder/block.${i}/feedforward/contract/weight`,
      `model/decoder/block.${i}/attention/out/weight`,
      `model/decoder/block.${i}/cross/out/weight`,
      `model/decoder/block.${i}/feedforward/contract/weight`,
    ]);
    expect(changed.map(([name]) => name).sort()).toEqual([...blocks, "model/scores/weight"].sort());
  });

  it("of recurrent layers are uniform within 1/√width", () => {
    const weights = initialise(parametersOf(rnnLoss({ width: 64, vocab: 9 }), { bind: { batch: 1, time: 2, sourceTime: 2 } }), chance(1));
    const data = weights.view("model/decoder/layer.0/state/weight").data as Float32Array;
    expect(Math.max(...data)).toBeLessThanOrEqual(1 / 8);
    expect(spread(data) / (1 / 8 / Math.sqrt(3))).toBeCloseTo(1, 1);
  });
});
