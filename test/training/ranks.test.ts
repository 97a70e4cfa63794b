import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { modelLoss } from "../../src/models/any.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { type FitOptions, type StepReport, fit as training } from "../../src/training/fit.ts";
import { type Group, partOf } from "../../src/training/group.ts";
import { optimizer as makeOptimizer, type OptimizerName } from "../../src/training/optimizers.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { together } from "../support/together.ts";
import { type Case, cases, symbolsOf } from "../support/trainees.ts";

// N ranks are one process that accumulates, bit for bit; and one process with the whole batch, but for the order of sums.

interface Trained {
  readonly losses: readonly number[];
  readonly weights: Buffer;
  readonly norms: readonly number[];
}

type Options = Partial<FitOptions> & { shard?: boolean; name?: OptimizerName };

async function trained({ model, batches }: Case, rows: number, options: Options = {}): Promise<Trained> {
  const { group, shard, accumulate = 1, name = "adamw" } = options;
  const loss = modelLoss(model, {});
  const layout = parametersOf(loss);
  const part = shard && group ? { part: (count: number) => partOf(count, group.rank, group.size) } : {};
  const optimizer = makeOptimizer(name, layout, { weightDecay: 0.1, clip: 1, accumulates: accumulate > 1, ...part });
  initialise(layout, chance(2), optimizer.weights);
  const reports = training(loss, optimizer, batches(rows), {
    steps: 12,
    learningRate: () => 1e-2,
    chance: chance(3),
    clock: () => 0,
    device: nodeDevice({ threads: 1 }),
    symbols: symbolsOf(model),
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

const ranks = (which: Case, size: number, rows: number, options: Options = {}) =>
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

  it("on 2 ranks moves by Muon as one process that accumulates does", async () => {
    const one = await trained(which, 12, { accumulate: 2, name: "muon" });
    for (const rank of await ranks(which, 2, 12, { name: "muon" })) expect(rank.weights.equals(one.weights)).toBe(true);
  });

  it("on 2 ranks that accumulate 2 parts each is near one process with the whole batch", async () => {
    const [first, second] = await ranks(which, 2, 12, { accumulate: 2 });
    expect(first.weights.equals(second.weights)).toBe(true);
    const whole = await trained(which, 12);
    for (const [i, found] of whole.losses.entries()) expect(Math.abs(first.losses[i] - found)).toBeLessThanOrEqual(2e-5 * Math.abs(found));
  });

  // two rows leave nothing to the last of three ranks
  it.each([
    [2, 12, {}],
    [3, 2, {}],
    [2, 10, { accumulate: 2 }],
  ] as const)(
    "on %i ranks with %i rows takes the same steps where half of the gradients are exchanged meanwhile (%j)",
    async (size, rows, more) => {
      const [meanwhile, after] = [await ranks(which, size, rows, { ...more, overlap: "always" }), await ranks(which, size, rows, more)];
      for (const rank of meanwhile) {
        expect(rank.losses).toEqual(after[0].losses);
        expect(rank.weights.equals(after[0].weights)).toBe(true);
      }
    },
  );

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

  it.each(["never", "always"] as const)(
    "where one has a loss that is no number, before any touches its weights, and all say whose it was; overlap: %s",
    async (overlap) => {
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
            overlap,
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
    },
  );
});
