import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import type { Batches } from "../../src/batches/batch.ts";
import { answeredLayout, labelledLayout, pairLayout, taggedLayout, trainingBatches } from "../../src/batches/examples.ts";
import { idsInMemory } from "../../src/batches/ids.ts";
import { trainingWindows } from "../../src/batches/windows.ts";
import { type ModelConfig, modelConfig, modelLoss, takesAnyLength } from "../../src/models/any.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { type FitOptions, type StepReport, fit as training } from "../../src/training/fit.ts";
import { type Group, partOf } from "../../src/training/group.ts";
import { optimizer as makeOptimizer } from "../../src/training/optimizers.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { together } from "../support/together.ts";

// N ranks are one process that accumulates, bit for bit; and one process with the whole batch, but for the order of sums.

const sizes = { layers: 1, heads: 2, width: 16, hidden: 24, context: 8, vocab: 11, dropout: 0.2 } as const;
const length = (i: number) => 2 + ((5 * i) % 7);
const ids = (i: number, more = 0) => Int32Array.from({ length: length(i + more) }, (_, k) => (i * 3 + k * k + more) % 11);
const examples = Array.from({ length: 47 }, (_, i) => i);

interface Case {
  readonly model: ModelConfig;
  batches(batch: number): Batches;
}

const ofWindows = (batch: number) =>
  trainingWindows(idsInMemory(Int32Array.from({ length: 900 }, (_, i) => (i * i + (i >> 3)) % 11)), { batch, context: 8 }, chance(1));
const pairs = examples.map((i) => ({ source: ids(i), target: ids(i, 1), targets: ids(i, 1) }));
const shapesOf = (model: ModelConfig) => (takesAnyLength(model) ? "any" : "few");

const cases: Readonly<Record<string, Case>> = {
  "a decoder": { model: modelConfig({ model: "decoder", ...sizes }), batches: ofWindows },
  "a decoder on answers of many lengths": {
    model: modelConfig({ model: "decoder", ...sizes, positions: "rotary" }),
    batches: (batch) =>
      trainingBatches(
        examples.map((i) => ({ ids: ids(i), targets: ids(i).map((id, k) => (k % 3 === 0 ? -1 : id)) })),
        answeredLayout,
        { batch, shapes: "any" },
        chance(1),
      ),
  },
  "an encoder that classifies": {
    model: modelConfig({ model: "encoder", ...sizes, task: "classify", labels: 3 }),
    batches: (batch) =>
      trainingBatches(
        examples.map((i) => ({ ids: ids(i), label: i % 3 })),
        labelledLayout,
        { batch, shapes: "any" },
        chance(1),
      ),
  },
  "an encoder that tags": {
    model: modelConfig({ model: "encoder", ...sizes, task: "tag", labels: 3 }),
    batches: (batch) =>
      trainingBatches(
        examples.map((i) => ({ ids: ids(i), tags: ids(i).map((id) => id % 3) })),
        taggedLayout,
        { batch, shapes: "any" },
        chance(1),
      ),
  },
  "an encoder–decoder": {
    model: modelConfig({ model: "encoder-decoder", ...sizes }),
    batches: (batch) => trainingBatches(pairs, pairLayout, { batch, shapes: "any" }, chance(1)),
  },
  "an RNN": {
    model: modelConfig({ model: "rnn", task: "translate", cell: "gru", layers: 1, width: 12, context: 10, vocab: 11, dropout: 0.2 }),
    batches: (batch) => trainingBatches(pairs, pairLayout, { batch, shapes: "few" }, chance(1)),
  },
};

interface Trained {
  readonly losses: readonly number[];
  readonly weights: Buffer;
  readonly norms: readonly number[];
}

async function trained({ model, batches }: Case, rows: number, options: Partial<FitOptions> & { shard?: boolean } = {}): Promise<Trained> {
  const { group, shard, accumulate = 1 } = options;
  const loss = modelLoss(model, {});
  const layout = parametersOf(loss);
  const part = shard && group ? { part: (count: number) => partOf(count, group.rank, group.size) } : {};
  const optimizer = makeOptimizer("adamw", layout, { weightDecay: 0.1, clip: 1, accumulates: accumulate > 1, ...part });
  initialise(layout, chance(2), optimizer.weights);
  const reports = training(loss, optimizer, batches(rows), {
    steps: 12,
    learningRate: () => 1e-2,
    chance: chance(3),
    clock: () => 0,
    device: nodeDevice({ threads: 1 }),
    symbols: shapesOf(model) === "any" && model.model !== "decoder" ? "open" : "bound",
    accumulates: "rows",
    ...options,
  });
  const found: StepReport[] = [];
  for await (const report of reports) if (report.kind === "step") found.push(report);
  return {
    losses: found.map((report) => report.loss),
    norms: found.map(({ norm }) => norm),
    weights: Buffer.from(optimizer.weights.data.slice().buffer),
  };
}

const ranks = (which: Case, size: number, rows: number, options: Partial<FitOptions> & { shard?: boolean } = {}) =>
  together(size, (group: Group) => trained(which, rows, { ...options, group }));

describe.each(Object.entries(cases))("%s", (_, which) => {
  // 12 rows are divided by 2, 3 and 4; 10 rows are not divided by 3 and 4, and batches at the end of a bucket by nothing
  it.each([
    [2, 12],
    [3, 12],
    [4, 12],
    [3, 10],
    [4, 10],
  ])("on %i ranks with %i rows is one process that accumulates, and every rank is the same", async (size, rows) => {
    const all = await ranks(which, size, rows);
    const one = await trained(which, rows, { accumulate: size });
    for (const rank of all) {
      expect(rank.losses).toEqual(one.losses);
      expect(rank.weights.equals(one.weights)).toBe(true);
    }
    const whole = await trained(which, rows);
    for (const [i, found] of whole.losses.entries()) expect(Math.abs(all[0].losses[i] - found)).toBeLessThanOrEqual(2e-5 * Math.abs(found));
  });

  it("on 2 ranks that accumulate 2 parts each is near one process with the whole batch", async () => {
    const [first, second] = await ranks(which, 2, 12, { accumulate: 2 });
    expect(first.weights.equals(second.weights)).toBe(true);
    const whole = await trained(which, 12);
    for (const [i, found] of whole.losses.entries()) expect(Math.abs(first.losses[i] - found)).toBeLessThanOrEqual(2e-5 * Math.abs(found));
  });

  it("on 3 ranks that keep a part of the optimizer each trains as with all of it", async () => {
    const [shared, whole] = [await ranks(which, 3, 12, { shard: true }), await ranks(which, 3, 12)];
    for (const rank of shared) expect(rank.weights.equals(shared[0].weights)).toBe(true);
    for (const [i, found] of whole[0].losses.entries())
      expect(Math.abs(shared[0].losses[i] - found)).toBeLessThanOrEqual(1e-6 * Math.abs(found));
  });
});

describe("all ranks stop", () => {
  const which = cases["a decoder"];

  it("after the step in which one of them wants to", async () => {
    const found = await together(3, async (group) => {
      const optimizer = makeOptimizer("adamw", parametersOf(modelLoss(which.model)), {});
      initialise(parametersOf(modelLoss(which.model)), chance(2), optimizer.weights);
      let asked = 0;
      const reports = training(modelLoss(which.model), optimizer, which.batches(6), {
        steps: 9,
        learningRate: () => 1e-2,
        chance: chance(3),
        clock: () => 0,
        device: nodeDevice({ threads: 1 }),
        group,
        wantsStop: () => group.rank === 1 && ++asked === 3,
      });
      for await (const report of reports) if (report.kind === "step" && report.stop) return report.step;
      return undefined;
    });
    expect(found).toEqual([3, 3, 3]);
  });

  it("where one has a loss that is no number, before any touches its weights, and all say whose it was", async () => {
    const poisoned: Case = {
      model: which.model,
      batches: (batch) => which.batches(batch),
    };
    const found = await together(
      2,
      async (group) => {
        const loss = modelLoss(poisoned.model);
        const optimizer = makeOptimizer("adamw", parametersOf(loss), {});
        initialise(parametersOf(loss), chance(2), optimizer.weights);
        const before = optimizer.weights.data.slice();
        const damaged = group.rank === 1;
        if (damaged) (optimizer.weights.views.values().next().value as { data: Float32Array }).data.fill(Number.NaN);
        const reports = training(loss, optimizer, poisoned.batches(6), {
          steps: 2,
          learningRate: () => 1e-2,
          chance: chance(3),
          clock: () => 0,
          device: nodeDevice({ threads: 1 }),
          group,
        });
        const error = await reports.next().then(
          () => undefined,
          (thrown: Error) => thrown,
        );
        if (!damaged) expect(optimizer.weights.data).toEqual(before);
        return error?.message;
      },
      { hosts: ["north", "south"] },
    );
    for (const said of found) expect(said).toMatch(/on rank 1 \(south\) the loss is NaN; .*the weights were not touched/);
  });
});
