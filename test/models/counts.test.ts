import { describe, expect, it } from "vitest";
import { tensorFunction } from "../../src/graph/graph.ts";
import { float32 } from "../../src/graph/type.ts";
import { attention } from "../../src/layers/attention.ts";
import { decoderConfig } from "../../src/models/config.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { encoderDecoderLoss } from "../../src/models/encoder-decoder.ts";
import { decoderPresets, encoderDecoderPresets, preset } from "../../src/models/presets.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { countParameters } from "../../src/weights/count.ts";

const decoderCount = (name: string) => parametersOf(decoderLoss(decoderPresets[name])).total;
const pairCount = (name: string) => parametersOf(encoderDecoderLoss(encoderDecoderPresets[name]), { bind: {} }).total;

describe("parameters of the presets", () => {
  it("GPT-2 small has exactly 124,439,808, and the larger ones what is published", () => {
    expect(decoderCount("gpt2")).toBe(124_439_808);
    expect(["gpt2-medium", "gpt2-large", "gpt2-xl"].map(decoderCount)).toEqual([354_823_168, 774_030_080, 1_557_611_200]);
  });

  it.each([
    ["gpt3-small", 125e6],
    ["gpt3-medium", 350e6],
    ["gpt3-large", 760e6],
    ["gpt3-xl", 1.3e9],
    ["gpt3-2.7b", 2.7e9],
    ["gpt3-6.7b", 6.7e9],
    ["gpt3-13b", 13e9],
    ["gpt3-175b", 175e9],
  ] as const)("%s is within 2 %% of the table's %d", (name, printed) => {
    expect(Math.abs(decoderCount(name) / printed - 1)).toBeLessThan(0.02);
  });

  it("XL as printed, with 24 heads of 128 for a width of 2,048, would be a sixth larger than its total", () => {
    const printed = parametersOf(decoderLoss({ ...decoderPresets["gpt3-xl"], heads: 24, keySize: 128, valueSize: 128 })).total;
    expect([24 * 128, 40 * 128]).toEqual([3072, 5120]); // neither is the width that the table prints, 2,048 and 5,140
    expect(printed / 1.3e9).toBeCloseTo(1.165, 2);
  });

  it("the paper's base has 63.0M with a shared vocabulary of 37,000, and big 214.2M", () => {
    // It prints 65M and 213M: its vocabulary was about 37,000 tokens, and 2M more are 4,000 rows of 512.
    expect(pairCount("transformer-base") / 1e6).toBeCloseTo(63.08, 1);
    expect(pairCount("transformer-big") / 1e6).toBeCloseTo(214.2, 0);
  });

  it("counts by place without a session", () => {
    const tree = countParameters(parametersOf(decoderLoss({ layers: 1, heads: 2, width: 8, context: 4, vocab: 5 })));
    const [model] = tree.parts;
    expect([tree.count, model.name, model.parts.map(({ name, count }) => [name, count])]).toEqual([
      960,
      "decoder",
      [
        ["tokens", 40],
        ["positions", 32],
        ["block.0", 872],
        ["norm", 16],
      ],
    ]);
  });

  it("an unknown preset gets a suggestion", () => {
    expect(() => preset("gpt2-mediun")).toThrow('there is no preset called "gpt2-mediun"; did you mean "gpt2-medium"?');
  });
});

describe("parameters of multi-head attention, without biases", () => {
  const [width, heads] = [24, 4];
  const count = async (options: object) => {
    const fn = tensorFunction({ x: float32(["batch", "time", width]) }, (p, { x }) => ({
      y: attention(p.at("attention"), x, decoderConfig({ heads, vocab: 2, positions: "none", ...options })),
    }));
    const { entries } = parametersOf(fn);
    await compile(fn).prepare({ batch: 1, time: 2 }); // it also runs
    return entries.filter(({ shape, name }) => !name.endsWith("bias") && shape.length > 1).reduce((n, { length }) => n + length, 0);
  };

  it("split: 4·width²", async () => expect(await count({})).toBe(4 * width ** 2));
  it("narrow: 3·heads·(width/heads)² + width²", async () =>
    expect(await count({ multiHead: "narrow" })).toBe(3 * heads * (width / heads) ** 2 + width ** 2));
  it("wide: 3·heads·width² + heads·width²", async () => expect(await count({ multiHead: "wide" })).toBe(4 * heads * width ** 2));
  it("sizes of their own: width·heads·(2·key + 2·value)", async () => {
    expect(await count({ keySize: 5, valueSize: 3 })).toBe(width * heads * (2 * 5 + 2 * 3));
  });
  it("free: none at all", async () => expect(await count({ attention: "free" })).toBe(0));
  it("bilinear and additive scores have weights of their own in each head", async () => {
    expect(await count({ score: "bilinear" })).toBe(4 * width ** 2 + heads * 6 ** 2);
    expect(await count({ score: "additive" })).toBe(4 * width ** 2 + heads * (2 * 6 ** 2 + 6));
  });
});
