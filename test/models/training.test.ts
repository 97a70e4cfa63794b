import { describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import type { TensorFunction } from "../../src/graph/graph.ts";
import { positionKinds } from "../../src/layers/positions.ts";
import { cells } from "../../src/layers/recurrent.ts";
import { pools } from "../../src/models/config.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { encoderLoss } from "../../src/models/encoder.ts";
import { encoderDecoderLoss } from "../../src/models/encoder-decoder.ts";
import { rnnLanguageModelLoss, rnnLoss } from "../../src/models/rnn.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { AdamW } from "../../src/training/adam.ts";
import { initialise } from "../../src/weights/initialise.ts";

// Each architecture, and each kind of positions, learns a small task in a few hundred steps.

type Batch = Record<string, HostArray>;
const ordered = positionKinds.filter((kind) => kind !== "none");

const ids = (rows: number[][]) => array("int32", Int32Array.from(rows.flat()), [rows.length, rows[0].length]);

const mostSteps = 1500;

/** Trains until the share of right answers on a batch that it has not seen is above a goal, for at most 1,500 steps. Gives the share. */
async function learns(fn: TensorFunction, batch: (seed: number) => Batch, goal: number): Promise<number> {
  const test = batch(1_000_000);
  const sizes = Object.entries(fn.inputs).flatMap(([name, { shape }]) => shape.map((dim, i) => [dim.expression, test[name].shape[i]]));
  const layout = parametersOf(fn, { bind: Object.fromEntries(sizes) });
  const optimizer = new AdamW(layout, { beta2: 0.99, clip: 1 });
  initialise(layout, chance(1), optimizer.weights);
  const { weights, gradients } = optimizer;
  const step = compile(fn, { gradientOf: "loss", outputs: ["loss"], threads: 1 });
  const look = compile(fn, { threads: 1 });
  let best = 0;
  for (let i = 1; i <= mostSteps && best <= goal; i++) {
    await step.run(batch(i) as never, { weights, gradients });
    await optimizer.step(5e-3 * Math.min(1, i / 20) * (1 - i / (mostSteps + 1)));
    if (i % 100 === 0) best = accuracy((await look.run(test as never, { weights })).scores, test.targets);
  }
  await step.release();
  await look.release();
  return best;
}

function accuracy(scores: HostArray, targets: HostArray): number {
  const classes = scores.shape.at(-1) as number;
  const data = scores.data as Float32Array;
  let [right, counted] = [0, 0];
  for (const [row, target] of (targets.data as Int32Array).entries()) {
    if (target < 0) continue;
    const values = data.subarray(row * classes, (row + 1) * classes);
    counted++;
    if (values.indexOf(Math.max(...values)) === target) right++;
  }
  return right / counted;
}

const random = (seed: number, rows: number, length: number, below: number): number[][] => {
  const source = chance(9).fork(seed);
  return Array.from({ length: rows }, (_, r) => Array.from({ length }, (_, t) => source.integer(r * length + t, below)));
};

/** Half a sequence, a separator, and the half again: the second half can be foretold. */
function copyBatch(seed: number): Batch {
  const halves = random(seed, 32, 6, 6);
  const rows = halves.map((half) => [...half, 6, ...half]);
  return { ids: ids(rows.map((row) => row.slice(0, -1))), targets: ids(rows.map((row) => row.slice(1).map((t, i) => (i < 6 ? -1 : t)))) };
}

/** A source and the same backwards. */
const reverseBatch = (seed: number): Batch => pairs(random(seed, 32, 6, 6), (row) => row.toReversed());

/** A source and the same in order. */
const sortBatch = (seed: number): Batch => pairs(random(seed, 32, 6, 6), (row) => row.toSorted((a, b) => a - b));

function pairs(source: number[][], change: (row: number[]) => number[]): Batch {
  const target = source.map(change);
  return {
    source: ids(source),
    lengths: array(
      "int32",
      source.map((row) => row.length),
    ),
    target: ids(target.map((row) => [7, ...row.slice(0, -1)])),
    targets: ids(target),
  };
}

/** Rows of letters, each with a tag: a number that is capped at 2. */
function tagged(rows: number[][], count: (row: number[], i: number) => number): Batch {
  const tags = rows.map((row) => row.map((_, i) => Math.min(2, count(row, i))));
  return {
    ids: ids(rows),
    lengths: array(
      "int32",
      rows.map((row) => row.length),
    ),
    targets: ids(tags),
  };
}

/** How often each letter occurred before. Only positions and looking back can tell. */
const countingBatch = (seed: number): Batch =>
  tagged(random(seed, 32, 10, 4), (row, i) => row.slice(0, i).filter((other) => other === row[i]).length);

/** How often each letter occurs elsewhere, on either side. */
const elsewhereBatch = (seed: number): Batch =>
  tagged(random(seed, 32, 8, 6), (row, i) => row.filter((other) => other === row[i]).length - 1);

/** Whether there are more ones than zeros. */
function majorityBatch(seed: number): Batch {
  const rows = random(seed, 32, 9, 2);
  const labels = rows.map((row) => Number(row.reduce((a, b) => a + b) > 4));
  return {
    ids: ids(rows),
    lengths: array(
      "int32",
      rows.map((row) => row.length),
    ),
    targets: array("int32", labels),
  };
}

const small = { layers: 2, heads: 2, width: 32, context: 16 };

describe("learns", () => {
  // ALiBi in an encoder knows how far, but not on which side: it cannot tell before from after, so it gets tasks that need no side.
  const sided = ordered.filter((kind) => kind !== "alibi");

  it.each(ordered)("to copy: decoder with %s positions", async (positions) => {
    const fn = decoderLoss({ ...small, vocab: 7, positions });
    expect(await learns(fn, copyBatch, 0.95)).toBeGreaterThan(0.95);
  });

  it.each(sided)("to count letters: encoder with %s positions", async (positions) => {
    const fn = encoderLoss({ ...small, vocab: 4, task: "tag", labels: 3, positions });
    expect(await learns(fn, countingBatch, 0.95)).toBeGreaterThan(0.95);
  });

  it("to count letters on both sides: encoder with alibi positions", async () => {
    const fn = encoderLoss({ ...small, vocab: 6, task: "tag", labels: 3, positions: "alibi" });
    expect(await learns(fn, elsewhereBatch, 0.95)).toBeGreaterThan(0.95);
  });

  it.each(sided)("to reverse: encoder–decoder with %s positions", async (positions) => {
    const fn = encoderDecoderLoss({ ...small, vocab: 8, positions });
    expect(await learns(fn, reverseBatch, 0.95)).toBeGreaterThan(0.95);
  });

  it("to sort: encoder–decoder with alibi positions", async () => {
    const fn = encoderDecoderLoss({ ...small, vocab: 8, positions: "alibi" });
    expect(await learns(fn, sortBatch, 0.9)).toBeGreaterThan(0.9);
  });

  it("the majority: encoder without positions", async () => {
    const fn = encoderLoss({ ...small, layers: 1, vocab: 2, labels: 2, positions: "none" });
    expect(await learns(fn, majorityBatch, 0.95)).toBeGreaterThan(0.95);
  });

  it("to copy: GRU encoder–decoder with attention, one direction", async () => {
    const fn = rnnLoss({ cell: "gru", width: 48, vocab: 8, score: "bilinear" });
    expect(await learns(fn, (seed) => pairs(random(seed, 32, 6, 6), (row) => row), 0.95)).toBeGreaterThan(0.95);
  });

  it("to copy, though the mask comes after the softmax: the lecture says that it may just work", async () => {
    const fn = decoderLoss({ ...small, vocab: 7, mask: "after-softmax" });
    expect(await learns(fn, copyBatch, 0.95)).toBeGreaterThan(0.95);
  });

  it.each(pools)("the majority: encoder with %s pooling", async (pool) => {
    const fn = encoderLoss({ ...small, layers: 1, vocab: 2, labels: 2, pool });
    expect(await learns(fn, majorityBatch, 0.95)).toBeGreaterThan(0.95);
  });

  it.each(cells)("to reverse: %s encoder–decoder with attention, two directions", async (cell) => {
    const fn = rnnLoss({ cell, width: 48, vocab: 8, bidirectional: true });
    expect(await learns(fn, reverseBatch, 0.95)).toBeGreaterThan(0.95);
  });

  it("to reverse: GRU encoder–decoder of two layers without attention, through one vector", async () => {
    const fn = rnnLoss({ cell: "gru", layers: 2, width: 64, vocab: 8, attention: false });
    expect(await learns(fn, reverseBatch, 0.8)).toBeGreaterThan(0.8);
  });

  it.each(cells)("to copy: %s language model, far better than chance (1/6)", async (cell) => {
    const fn = rnnLanguageModelLoss({ cell, width: 64, vocab: 7 });
    expect(await learns(fn, copyBatch, 0.5)).toBeGreaterThan(0.5);
  });
});
