import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { gradientGap } from "../../src/gradients/finite-difference.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { float32 } from "../../src/graph/type.ts";
import { type AttentionConfig, attention } from "../../src/layers/attention.ts";
import { attentionPositions, ropeFrequencies } from "../../src/layers/positions.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";

// The options of published models do what the functions of Hugging Face transformers do. options.py made the values.

interface Reference {
  readonly rope: { settings: object; half: number; frequencies: number[] }[];
  readonly attention: {
    config: Partial<AttentionConfig>;
    shape: number[];
    x: number[];
    weights: Record<string, number[]>;
    pattern: number[];
    y: number[];
  };
  readonly buckets: { from: number; found: { buckets: number; farthest: number; causal: boolean; found: number[] }[] };
}
const reference: Reference = JSON.parse(readFileSync(join(import.meta.dirname, "options.json"), "utf8"));

it.each(reference.rope.map((one) => [JSON.stringify(one.settings), one] as const))("rotary frequencies: %s", (_, one) => {
  const found = ropeFrequencies(one.half, one.settings);
  expect(found).toHaveLength(one.frequencies.length);
  for (const [i, frequency] of found.entries()) expect(frequency / one.frequencies[i]).toBeCloseTo(1, 5);
});

describe("attention with grouped queries, norms of heads, a share of rotary, a scale, a cap and a window", () => {
  const { config, shape, x, weights: given, pattern, y } = reference.attention;
  const whole = {
    ...config,
    multiHead: "split",
    score: "scaled",
    attention: "softmax",
    mask: "before-softmax",
    positions: "rotary",
    dropout: 0,
    bias: "none",
    qkNorm: true,
  } as AttentionConfig;
  const fn = tensorFunction({ x: float32(shape) }, (p, inputs) => ({ y: attention(p.at("a"), inputs.x, whole, { causal: true }) }));
  const weights = new ParameterBuffer(parametersOf(fn));
  for (const [name, values] of Object.entries(given)) (weights.view(`a/${name}`).data as Float32Array).set(values);
  const feeds = { x: array("float32", Float32Array.from(x), shape) };

  it("in one op", async () => {
    expect(weights.views.size).toBe(Object.keys(given).length);
    const found = await compile(fn).run(feeds, { weights });
    expect(gradientGap(Float32Array.from(y), found.y.data as Float32Array)).toBeLessThan(1e-5);
  });

  it("step by step, with the same pattern", async () => {
    const found = await compile(fn, { taps: ["a/pattern"] }).run(feeds, { weights });
    expect(gradientGap(Float32Array.from(y), found.y.data as Float32Array)).toBeLessThan(1e-5);
    expect(gradientGap(Float32Array.from(pattern), found["a/pattern"].data as Float32Array)).toBeLessThan(1e-5);
  });
});

describe("the buckets of relative positions", () => {
  const { from, found } = reference.buckets;
  it.each(found.map((one) => [`${one.buckets} up to ${one.farthest}, ${one.causal ? "causal" : "both ways"}`, one] as const))(
    "%s",
    async (_, one) => {
      const time = 1 - from;
      const settings = { relativeBuckets: one.buckets, relativeFarthest: one.farthest };
      const fn = tensorFunction({ q: float32([1, 1, time, 2]) }, (p, { q }) => {
        const { bias = q } = attentionPositions(p.at("a"), "relative", q, { causal: one.causal }, settings);
        return { bias };
      });
      const weights = new ParameterBuffer(parametersOf(fn));
      (weights.view("a/relative").data as Float32Array).set(Array.from({ length: one.buckets }, (_, i) => i)); // a bucket says its number
      const q = array("float32", new Float32Array(2 * time), [1, 1, time, 2]);
      const { bias } = await compile(fn).run({ q }, { weights }); // [head, query, key]
      const last = Array.from(bias.data.subarray((time - 1) * time) as Float32Array); // all that lie back
      const first = Array.from(bias.data.subarray(1, time) as Float32Array); // and ahead
      expect([...last, ...first]).toEqual(one.found);
    },
  );
});
