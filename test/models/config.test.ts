import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { decoderConfig, rnnConfig } from "../../src/models/config.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { encoderDecoderLoss } from "../../src/models/encoder-decoder.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { initialise } from "../../src/weights/initialise.ts";

describe("what makes no sense is refused with a reason", () => {
  const build = (more: object) => () => parametersOf(decoderLoss({ layers: 1, heads: 2, width: 8, context: 4, vocab: 5, ...more }));
  it.each<[string, () => unknown, string]>([
    [
      "rotary with an odd head size",
      build({ width: 6, positions: "rotary" }),
      "at config.positions: rotary positions turn pairs, so the head size must be even, not 3; change heads, width or keySize",
    ],
    [
      "narrow heads that do not divide the width",
      build({ width: 9, multiHead: "narrow" }),
      "at config.heads: a width of 9 is not divisible into 2 heads; change one of them, or give keySize and valueSize with split heads",
    ],
    [
      "free attention with a score that has parameters",
      build({ attention: "free", score: "bilinear" }),
      "at config.score: parameter-free attention compares by dot product; the bilinear score has parameters",
    ],
    [
      "free cross-attention",
      () => parametersOf(encoderDecoderLoss({ layers: 1, heads: 2, width: 8, vocab: 5, attention: "free" })),
      "at config.attention: parameter-free attention is self-attention, and an encoder–decoder needs cross-attention too",
    ],
    [
      "a position past a learned table",
      () => parametersOf(decoderLoss({ layers: 1, heads: 2, width: 8, context: 4, vocab: 5 }), { bind: { time: 5 } }),
      "a learned table of 4 positions has none for a sequence of time=5; train with a longer context, or use rotary or ALiBi",
    ],
    [
      "additive scores that would fill the memory",
      () =>
        parametersOf(decoderLoss({ layers: 1, heads: 8, width: 512, context: 512, vocab: 5, score: "additive" }), {
          bind: { batch: 8, time: 512 },
        }),
      "at decoder/block.0/attention: additive scores keep batch 8 · head 8 · query 512 · key 512 · size 64 numbers = 4.0 GiB in each layer; use a smaller batch or context, or another score",
    ],
    [
      "an unknown key",
      () => decoderConfig({ vocab: 5, postions: "none" } as never),
      'at config.postions: unknown key; did you mean "positions"?',
    ],
    ["a letter swapped", () => decoderConfig({ vocab: 5, widht: 3 } as never), 'at config.widht: unknown key; did you mean "width"?'],
    [
      "joined positions that are not added",
      () => decoderConfig({ vocab: 5, positions: "rotary", joinPositions: "concat" }),
      "at config.joinPositions: rotary positions act inside attention; only learned and sinusoidal ones can be joined to the tokens",
    ],
    [
      "a language model that reads backwards",
      () => rnnConfig({ vocab: 5, task: "lm", bidirectional: true }),
      "at config.bidirectional: a language model reads in one direction, or it would see what it should foretell",
    ],
    ["no config at all", () => decoderConfig(3 as never), "at config: Invalid input: expected object, received number"],
    [
      "an unknown choice",
      () => decoderConfig({ vocab: 5, norm: "batch" } as never),
      'at config.norm: Invalid option: expected one of "layer"|"rms"|"none"',
    ],
  ])("%s", (_, make, message) => {
    expect(make).toThrow(message);
  });

  it("dropout without a source of chance", async () => {
    const fn = decoderLoss({ layers: 1, heads: 2, width: 8, context: 4, vocab: 5, dropout: 0.1 });
    const weights = initialise(parametersOf(fn), chance(1));
    const ids = array("int32", [[1, 2]]);
    const step = compile(fn, { outputs: ["loss"] });
    await expect(step.run({ ids, targets: ids }, { weights })).rejects.toThrow(
      "this function draws random bytes (dropout), but no chance was given",
    );
    const [a, b, c] = [
      await step.run({ ids, targets: ids }, { weights, chance: chance(1) }),
      await step.run({ ids, targets: ids }, { weights, chance: chance(1) }),
      await step.run({ ids, targets: ids }, { weights, chance: chance(2) }),
    ];
    expect(a.loss.data[0]).toBe(b.loss.data[0]);
    expect(a.loss.data[0]).not.toBe(c.loss.data[0]);
  });
});
