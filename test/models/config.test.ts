import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { decoderConfig, encoderConfig, encoderDecoderConfig, rnnConfig } from "../../src/models/config.ts";
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
    [
      "heads of keys and values that do not divide the heads",
      build({ heads: 6, width: 12, kvHeads: 4 }),
      "at config.kvHeads: 4 heads of keys and values cannot serve 6 heads of queries equally; kvHeads must divide heads: 1, 2, 3, 6",
    ],
    [
      "heads of keys and values of attention without any",
      build({ attention: "free", kvHeads: 1 }),
      "at config.kvHeads: parameter-free attention has no queries and keys apart from the tokens themselves; leave it out, or choose attention with a softmax",
    ],
    [
      "half of three turned",
      build({ width: 12, positions: "rotary", ropeShare: 0.5 }),
      "at config.ropeShare: rotary positions turn pairs, and a ropeShare of 0.5 of a head of 6 is 3; choose a share that makes an even number, at least 2",
    ],
    [
      "a base of angles without angles",
      build({ ropeBase: 500_000 }),
      'at config.ropeBase: it is for rotary positions, and these are learned; use it with positions: "rotary"',
    ],
    [
      "a shared table that nobody has",
      build({ positions: "alibi", relativeShared: true }),
      'at config.relativeShared: it is for relative positions, and these are alibi; use it with positions: "relative"',
    ],
    [
      "buckets that have no halves on each side",
      build({ positions: "relative", relativeBuckets: 10 }),
      "at config.relativeBuckets: half of the buckets on each side are for single distances, so their number must be divisible by 4, not 10",
    ],
    [
      "a farthest distance that is near",
      build({ positions: "relative", relativeFarthest: 16 }),
      "at config.relativeFarthest: 16 buckets are for single distances, so the farthest must be above 16, not 16; raise it, or lower relativeBuckets",
    ],
    [
      "factors in the wrong order",
      build({ positions: "rotary", ropeScaling: "llama3", ropeLowFactor: 4 }),
      "at config.ropeHighFactor: it must be above ropeLowFactor, which is 4, not 4",
    ],
    [
      "every second window of none",
      build({ windowEvery: 2 }),
      "at config.windowEvery: no layer has a window; give window too, or leave it out",
    ],
    [
      "a scale of a score without one",
      build({ score: "dot", scale: 0.5 }),
      'at config.scale: the dot score has no scale; use it with score: "scaled"',
    ],
    [
      "a norm of the tokens where there are no norms",
      build({ norm: "none", embeddingNorm: true }),
      'at config.embeddingNorm: there is no norm to use; choose norm: "layer"|"rms", or leave it out',
    ],
    [
      "side by side with a norm after each",
      build({ normPlace: "post", parallel: "own-norm" }),
      'at config.parallel: a norm after each sublayer leaves nothing to do side by side; use it with normPlace: "pre"|"both"',
    ],
    [
      "blocks that start at 0 without a way around them",
      build({ zeroInit: true, residual: false }),
      "at config.zeroInit: with residual: false nothing would come through blocks that start at 0; leave one of the two out",
    ],
    [
      "norms of what starts at 0",
      build({ zeroInit: true, normPlace: "both" }),
      'at config.zeroInit: a norm after each sublayer would divide by 0; use it with normPlace: "pre"|"post"',
    ],
    [
      "values of the first layer where there are none",
      build({ attention: "free", valueResidual: true }),
      "at config.valueResidual: parameter-free attention has no values apart from the tokens themselves; leave it out, or choose attention with a softmax",
    ],
    [
      "values of the first layer of an RNN",
      () => rnnConfig({ vocab: 5, valueResidual: true } as never),
      "at config.valueResidual: not a setting of model rnn, but of decoder, encoder, encoder-decoder",
    ],
    [
      "a decoder whose own heads do not fit",
      () => encoderDecoderConfig({ vocab: 5, width: 8, heads: 2, decoderHeads: 3 }),
      "at config.heads: a width of 8 is not divisible into 3 heads; change one of them, or give keySize and valueSize with split heads",
    ],
    [
      "a classifier without labels",
      () => encoderConfig({ vocab: 5 }),
      "at config.labels: a whole number from 1 to 1,000,000 is wanted, not nothing",
    ],
    ["a cap of 0", build({ scoreCap: 0 }), "at config.scoreCap: a number above 0, up to 1,000,000 is wanted, not 0"],
    [
      "a pooler of tags",
      () => encoderConfig({ vocab: 5, labels: 2, task: "tag", pooler: "tanh" }),
      'at config.pooler: a layer after gathering is for whole texts: task: "classify" or task: "embed"',
    ],
    [
      "a bias of scores that there are none of",
      () => encoderConfig({ vocab: 5, labels: 2, scoresBias: true }),
      'at config.scoresBias: an encoder in task: "classify" gives no scores of tokens; it has this in task: "mlm", and decoder or encoder-decoder always',
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
