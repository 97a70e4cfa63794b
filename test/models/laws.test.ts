import { describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import type { TensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { normPlaces } from "../../src/layers/block.ts";
import { activations } from "../../src/layers/feedforward.ts";
import { positionJoins } from "../../src/layers/positions.ts";
import { cells } from "../../src/layers/recurrent.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { encoderLoss } from "../../src/models/encoder.ts";
import { encoderDecoderLoss } from "../../src/models/encoder-decoder.ts";
import { rnnLanguageModelLoss, rnnLoss } from "../../src/models/rnn.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { initialise } from "../../src/weights/initialise.ts";
import {
  type Combination,
  crossing,
  insideAttention,
  pairwise,
  possible,
  product,
  publishedModels,
  scoring,
  sides,
} from "../support/combinations.ts";

// Laws that hold whatever a model is made of. Every pair of choices occurs here; QKV_LAWS=full runs the product of all that
// happens inside attention (positions, score, kind, heads, norm).

const choices = { ...insideAttention, normPlace: normPlaces };
const rest = {
  activation: activations,
  joinPositions: positionJoins,
  residual: [true, false],
  feedforward: [true, false],
  keySize: [undefined, 6],
  valueSize: [undefined, 3],
  normAffine: [true, false],
};

const full = process.env.QKV_LAWS === "full";
const combinations = (allowed: (one: Combination) => boolean): Combination[] =>
  full ? product(choices).filter(allowed) : pairwise({ ...choices, ...rest }, allowed);

const small = { layers: 2, heads: 2, width: 8, hidden: 12, context: 8, vocab: 9 };
const ids = (rows: number[][]) => array("int32", Int32Array.from(rows.flat()), [rows.length, rows[0].length]);
const name = (one: Combination) => Object.values(one).join(" ");
const named = (all: readonly Combination[]) => all.map((one) => [name(one), one] as const);

type Feeds = Record<string, HostArray>;

interface Kind {
  readonly symbols?: "open" | "bound";
  readonly norm?: unknown;
  readonly attention?: unknown;
}

/** A model with weights large enough that everything matters, and small enough that numbers stay finite where neither norm nor softmax holds them. */
async function running(fn: TensorFunction, sizes: Record<string, number>, { symbols = "open", norm, attention }: Kind = {}) {
  const weights = initialise(parametersOf(fn, { bind: sizes }), chance(5));
  const [added, scale] = norm !== "none" ? [0.3, 1] : attention === "linear" ? [0.1, 0.4] : [0.1, 1];
  for (const { name: parameter, offset, length } of weights.layout.entries) {
    const source = chance(6).fork(parameter);
    for (let i = 0; i < length; i++) weights.data[offset + i] = scale * (weights.data[offset + i] + added * source.normal(i));
  }
  const f = compile(fn, { symbols, outputs: ["scores"], threads: 1 });
  const scores = async (feeds: Feeds) => (await f.run(feeds as never, { weights })).scores;
  return { weights, scores, release: () => f.release() };
}

/** Row `position` of each sequence's scores. */
function at(scores: HostArray, batch: number, position: number): number[] {
  const [, time, classes] = scores.shape;
  const start = (batch * time + position) * classes;
  return Array.from((scores.data as Float32Array).subarray(start, start + classes));
}

function same(a: readonly number[], b: readonly number[], what: string): void {
  const scale = Math.max(1, ...a.map(Math.abs));
  for (const [i, value] of a.entries()) expect(Math.abs(value - b[i]) / scale, what).toBeLessThan(1e-4);
}

async function everyParameterGetsAGradient(fn: TensorFunction, weights: ParameterBuffer, feeds: Feeds, silent: RegExp): Promise<void> {
  const gradients = new ParameterBuffer(weights.layout);
  const step = compile(fn, { gradientOf: "loss", outputs: ["loss"], threads: 1 });
  await step.run(feeds as never, { weights, gradients });
  await step.release();
  for (const [parameter, { data }] of gradients.views) {
    if (!silent.test(parameter))
      expect(
        (data as Float32Array).some((g) => g !== 0),
        `${parameter} gets a gradient`,
      ).toBe(true);
  }
}

describe("a decoder", () => {
  const [a, b] = [
    [1, 5, 3, 7, 2],
    [4, 0, 8, 6, 6],
  ];
  it.each([...named(combinations(possible)), ...publishedModels({ model: "decoder", ...small }, scoring)])("%s", async (_, one) => {
    const fn = decoderLoss({ ...small, ...one });
    const { weights, scores, release } = await running(fn, { batch: 2, time: 5 }, one);
    const feeds = (rows: number[][]) => ({ ids: ids(rows), targets: ids(rows) });
    const both = await scores(feeds([a, b]));
    const changed = await scores(feeds([[...a.slice(0, 3), 0, 0], b]));
    for (let t = 0; t < 3; t++) same(at(both, 0, t), at(changed, 0, t), "a later token changes nothing before it");
    const alone = await scores(feeds([b]));
    for (let t = 0; t < 5; t++) same(at(both, 1, t), at(alone, 0, t), "a batch of two is two batches of one");
    if (one.attention !== "linear") await rowsSumToOne(fn, weights, feeds([a, b]));
    await everyParameterGetsAGradient(fn, weights, feeds([a, b]), /k\/bias$/);
    await release();
  });
});

async function rowsSumToOne(fn: TensorFunction, weights: ParameterBuffer, feeds: Feeds): Promise<void> {
  const tap = "decoder/block.1/attention/pattern";
  const f = compile(fn, { taps: [tap], outputs: [], symbols: "open", threads: 1 });
  const { data, shape } = (await f.run(feeds as never, { weights }))[tap];
  const keys = shape[3];
  for (let row = 0; row < data.length; row += keys) {
    const pattern = Array.from((data as Float32Array).subarray(row, row + keys));
    expect(
      pattern.reduce((sum, value) => sum + value),
      "a row of the pattern sums to one",
    ).toBeCloseTo(1, 5);
  }
  await f.release();
}

describe("an encoder", () => {
  const row = [1, 5, 3, 7, 2];
  const tagger = { model: "encoder", ...small, task: "tag", labels: 3 } as const;
  it.each([...named(combinations(possible)), ...publishedModels(tagger)])("%s", async (_, one) => {
    const fn = encoderLoss({ ...small, ...one, task: "tag", labels: 3 });
    const { weights, scores, release } = await running(fn, { batch: 2, time: 5 }, one);
    const feeds = (rows: number[][], lengths: number[]) => ({
      ids: ids(rows),
      lengths: array("int32", lengths),
      targets: ids(rows.map((r) => r.map((x) => x % 3))),
    });
    const both = await scores(feeds([row, [4, 0, 8, 6, 6]], [5, 3]));
    const padded = await scores(feeds([row, [4, 0, 8, 1, 2]], [5, 3]));
    for (let t = 0; t < 3; t++) same(at(both, 1, t), at(padded, 1, t), "padding changes no real position");
    const alone = await scores(feeds([[4, 0, 8]], [3]));
    for (let t = 0; t < 3; t++) same(at(both, 1, t), at(alone, 0, t), "a padded sequence in a batch is the sequence alone");
    if (one.positions === "none" && one.window === undefined) {
      const order = [3, 0, 4, 2, 1];
      const shuffled = await scores(feeds([order.map((i) => row[i])], [5]));
      for (const [t, i] of order.entries()) same(at(both, 0, i), at(shuffled, 0, t), "without positions, order does not matter");
    }
    await everyParameterGetsAGradient(fn, weights, feeds([row, row], [5, 5]), /k\/bias$/);
    await release();
  });
});

describe("an encoder–decoder", () => {
  const [source, target] = [
    [1, 5, 3, 7],
    [2, 4, 6, 8, 1],
  ];
  const models = publishedModels({ model: "encoder-decoder", ...small }, { ...scoring, ...sides });
  it.each([...named(combinations(crossing)), ...models])("%s", async (_, one) => {
    const fn = encoderDecoderLoss({ ...small, ...one });
    const { weights, scores, release } = await running(fn, { batch: 2, time: 5, sourceTime: 4 }, one);
    await pairLaws(scores, source, target);
    // Where nothing holds signals up, what queries change is too little for 32 bits.
    const vanishing = one.norm === "none" && one.residual === false;
    if (!vanishing) await everyParameterGetsAGradient(fn, weights, pairFeeds([source, source], [4, 4], [target, target]), /k\/bias$/);
    await release();
  });
});

describe("an RNN encoder–decoder", () => {
  const all = product({
    cell: cells,
    attention: [true, false],
    bidirectional: [true, false],
    layers: [1, 2],
    score: ["dot", "additive"],
  });
  it.each(all.filter(({ attention, score }) => attention || score === "dot").map((one) => [name(one), one] as const))(
    "%s",
    async (_, one) => {
      const fn = rnnLoss({ width: 6, vocab: 9, ...one });
      const { weights, scores, release } = await running(fn, { batch: 2, time: 5, sourceTime: 4 }, { symbols: "bound" });
      await pairLaws(scores, [1, 5, 3, 7], [2, 4, 6, 8, 1]);
      const feeds = pairFeeds(
        [
          [1, 5, 3, 7],
          [2, 2, 0, 1],
        ],
        [4, 4],
        [
          [2, 4, 6, 8, 1],
          [3, 1, 4, 1, 5],
        ],
      );
      await everyParameterGetsAGradient(fn, weights, feeds, /^$/);
      await release();
    },
  );
});

describe("an RNN language model", () => {
  it.each(cells)("%s: a later token changes nothing before it, and a batch is its sequences", async (cell) => {
    const fn = rnnLanguageModelLoss({ cell, width: 6, layers: 2, vocab: 9 });
    const { scores, release } = await running(fn, { batch: 2, time: 5 }, { symbols: "bound" });
    const feeds = (rows: number[][]) => ({ ids: ids(rows), targets: ids(rows) });
    const both = await scores(
      feeds([
        [1, 5, 3, 7, 2],
        [4, 0, 8, 6, 6],
      ]),
    );
    const changed = await scores(
      feeds([
        [1, 5, 3, 0, 0],
        [4, 0, 8, 6, 6],
      ]),
    );
    for (let t = 0; t < 3; t++) same(at(both, 0, t), at(changed, 0, t), "causal");
    const alone = await scores(feeds([[4, 0, 8, 6, 6]]));
    for (let t = 0; t < 5; t++) same(at(both, 1, t), at(alone, 0, t), "batch");
    await release();
  });
});

function pairFeeds(source: number[][], lengths: number[], target: number[][]): Feeds {
  return { source: ids(source), lengths: array("int32", lengths), target: ids(target), targets: ids(target) };
}

async function pairLaws(scores: (feeds: Feeds) => Promise<HostArray>, source: number[], target: number[]): Promise<void> {
  const other = [4, 0, 8, 6];
  const both = await scores(pairFeeds([source, other], [4, 2], [target, target]));
  const padded = await scores(pairFeeds([source, [4, 0, 1, 2]], [4, 2], [target, target]));
  for (let t = 0; t < 5; t++) same(at(both, 1, t), at(padded, 1, t), "padding in the source changes nothing");
  const changed = await scores(pairFeeds([source, other], [4, 2], [[...target.slice(0, 3), 0, 0], target]));
  for (let t = 0; t < 3; t++) same(at(both, 0, t), at(changed, 0, t), "a later token changes nothing before it");
  const alone = await scores(pairFeeds([[4, 0]], [2], [target]));
  for (let t = 0; t < 5; t++) same(at(both, 1, t), at(alone, 0, t), "a pair in a batch is the pair alone");
}
