import { expect } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import type { Prompt } from "../../src/generation/speech.ts";
import type { ParameterBuffer } from "../../src/graph/parameters.ts";
import { type ModelConfig, modelLoss } from "../../src/models/any.ts";
import { keepsPast } from "../../src/models/continuation.ts";
import { compile } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { initialise } from "../../src/weights/initialise.ts";

// What generation is held against: the model as it is trained, on all tokens at once.

/** Weights large enough that scores differ clearly, and small enough that numbers stay finite where neither norm nor softmax holds them. */
export function clearWeights(model: ModelConfig, seed = 5): ParameterBuffer {
  const weights = initialise(parametersOf(modelLoss(model)), chance(seed));
  const free = "norm" in model && model.norm === "none";
  const [added, scale] = !free ? [0.4, 1] : model.attention === "linear" ? [0.1, 0.5] : [0.2, 1];
  for (const { name, offset, length } of weights.layout.entries) {
    const source = chance(seed + 1).fork(name);
    for (let i = 0; i < length; i++) weights.data[offset + i] = scale * (weights.data[offset + i] + added * source.normal(i));
  }
  return weights;
}

/** A row of any tokens but the first three, which tokenizers keep for themselves. */
export function randomIds(length: number, vocab: number, seed: number): number[] {
  const source = chance(seed).fork("ids");
  return Array.from({ length }, (_, i) => 3 + source.integer(i, vocab - 3));
}

export class WholeModel {
  readonly #model: ModelConfig;
  readonly #run: (feeds: Record<string, HostArray>) => Promise<HostArray>;
  readonly release: () => Promise<void>;

  constructor(model: ModelConfig, weights: ParameterBuffer) {
    this.#model = model;
    const fn = modelLoss(model, { training: false });
    const unrolled = Object.values(fn.inputs).flatMap(({ shape }) => shape.flatMap(({ symbols }) => symbols));
    const bind = Object.fromEntries(unrolled.filter((axis) => axis !== "batch").map((axis) => [axis, model.context]));
    const f = compile(fn, { outputs: ["scores"], symbols: "open", threads: 1, ...(model.model === "rnn" && { bind }) });
    this.#run = async (feeds) => (await f.run(feeds as never, { weights })).scores;
    this.release = () => f.release();
  }

  /** The scores after each row. Models that see no future get rows with padding at the end, others rows of one length at a time. */
  async after(rows: readonly Prompt[]): Promise<Float32Array[]> {
    const { context, vocab } = this.#model;
    const causal = this.#model.model === "rnn" || keepsPast(this.#model as never);
    const found: Float32Array[] = new Array(rows.length);
    for (const length of causal ? [context] : new Set(rows.map(({ ids }) => ids.length))) {
      const members = [...rows.keys()].filter((i) => causal || rows[i].ids.length === length);
      const scores = await this.#run(
        this.#feeds(
          members.map((i) => rows[i]),
          length,
        ),
      ); // [row, time, vocab]
      for (const [row, i] of members.entries()) {
        const start = (row * length + rows[i].ids.length - 1) * vocab;
        found[i] = (scores.data as Float32Array).slice(start, start + vocab);
      }
    }
    return found;
  }

  #feeds(rows: readonly Prompt[], time: number): Record<string, HostArray> {
    const padded = (lists: readonly ArrayLike<number>[], length: number) =>
      array("int32", Int32Array.from(lists.flatMap((ids) => Array.from({ length }, (_, i) => ids[i] ?? 0))), [lists.length, length]);
    const ids = padded(
      rows.map((row) => row.ids),
      time,
    );
    if (!rows[0].source) return { ids, targets: ids };
    const sources = rows.map(({ source = [] }) => source);
    const lengths = array(
      "int32",
      sources.map((source) => source.length),
    );
    return { source: padded(sources, this.#model.context), lengths, target: ids, targets: ids };
  }
}

/** Within 1e-4 of the largest score, or of 1. */
export function expectSame(found: ArrayLike<number>, wanted: ArrayLike<number>, what: string): void {
  const scale = Math.max(1, ...Array.from(wanted, Math.abs));
  expect(found.length, what).toBe(wanted.length);
  const gap = Array.from(wanted).reduce((most, value, i) => Math.max(most, Math.abs(value - found[i]) / scale), 0);
  expect(gap, what).toBeLessThan(1e-4);
}

/** How far the scores of a row lie apart. */
export const spread = (scores: ArrayLike<number>): number => Math.max(...Array.from(scores)) - Math.min(...Array.from(scores));

/** log Σ exp. */
export function logSumExp(scores: ArrayLike<number>): number {
  const most = Math.max(...Array.from(scores));
  return most + Math.log(Array.from(scores).reduce((sum, score) => sum + Math.exp(score - most), 0));
}
