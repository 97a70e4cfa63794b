import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { NonFiniteError } from "../../src/base/errors.ts";
import { idsInMemory } from "../../src/batches/ids.ts";
import { trainingWindows } from "../../src/batches/windows.ts";
import { gradientGap } from "../../src/gradients/finite-difference.ts";
import type { TensorFunction } from "../../src/graph/graph.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { adapted, adapterLayout } from "../../src/models/lora.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { type FitOptions, type StepReport, fit as training } from "../../src/training/fit.ts";
import type { Optimizer } from "../../src/training/optimizer.ts";
import { optimizer as optimizerNamed, optimizerNames } from "../../src/training/optimizers.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { holding } from "../support/stand-in-devices.ts";

// Weights that stay on a device move as those of the host do, and come home when somebody wants to read them.

const loss = decoderLoss({ layers: 2, heads: 2, width: 16, context: 8, vocab: 7, dropout: 0.1 }, { smoothing: 0.1 });
const text = idsInMemory(Int32Array.from({ length: 400 }, (_, i) => (i * i) % 7));
const batches = trainingWindows(text, { batch: 4, context: 8 }, chance(1));
const options: FitOptions = {
  steps: 8,
  learningRate: (step) => 2e-2 / step,
  chance: chance(3),
  clock: () => 0,
  device: nodeDevice({ threads: 1 }),
};
const fresh = (name: (typeof optimizerNames)[number], given = {}): Optimizer => {
  const layout = parametersOf(loss);
  const made = optimizerNamed(name, layout, { weightDecay: 0.1, clip: 0.5, ...given });
  initialise(layout, chance(2), made.weights);
  return made;
};

function begun(optimizer: Optimizer, given: Partial<FitOptions>, of: TensorFunction = loss) {
  const all = { ...options, ...given };
  return training(of, optimizer, batches, all);
}

async function steps(optimizer: Optimizer, given: Partial<FitOptions> = {}, of?: TensorFunction): Promise<StepReport[]> {
  const all: StepReport[] = [];
  for await (const report of begun(optimizer, given, of)) if (report.kind === "step") all.push(report);
  return all;
}

function expectAlike(a: Optimizer, b: Optimizer, there: readonly StepReport[], here: readonly StepReport[]): void {
  for (const [i, { step, loss: value, norm, objective, tokens }] of there.entries()) {
    expect([step, tokens]).toEqual([here[i].step, here[i].tokens]);
    const pairs = [
      [value, here[i].loss],
      [norm, here[i].norm],
      [objective ?? 0, here[i].objective ?? 0],
    ];
    for (const [x, y] of pairs) expect(Math.abs(x - y)).toBeLessThan(1e-5 * Math.max(1, y));
  }
  expect(a.steps).toBe(b.steps);
  expect(gradientGap(a.weights.data, b.weights.data)).toBeLessThan(1e-3);
  for (const [name, { data }] of a.state) expect(gradientGap(data, b.state.get(name)?.data ?? []), name).toBeLessThan(1e-3);
}

const kinds = optimizerNames.flatMap((name) => [
  [name, "", {}, {}] as const,
  [name, "frozen in part", { freeze: ["decoder/block.0"] }, {}] as const,
]);
const more = [
  ["adamw", "all decay, any gradient", { decayAll: true, clip: Number.POSITIVE_INFINITY }, {}] as const,
  ["adamw", "with a mean of the weights", { average: 3 }, {}] as const,
  ["muon", "with a mean of the weights", { average: 3 }, {}] as const,
  ["adamw", "blocks computed again", {}, { checkpointBlocks: true }] as const,
  ["adamw", "patterns computed again", {}, { recomputePattern: true }] as const,
  ["adamw", "open sizes", {}, { symbols: "open" }] as const,
  ["adamw", "another loss reported", {}, { report: "plain" }] as const,
];

describe("training that stays on a device", () => {
  it.each([...kinds, ...more])("%s %s: losses, norms, weights and state are those of the host", async (name, _, made, given) => {
    const { engine, held } = holding();
    const [there, here] = [fresh(name, made), fresh(name, made)];
    const found = await steps(there, { ...given, device: { engine, threads: 1 }, resident: true });
    expectAlike(there, here, found, await steps(here, given as Partial<FitOptions>));
    expect(held()).toBe(0);
  });

  it("trains an adapter beside a base that is baked in", async () => {
    const { engine, held } = holding();
    const lora = { rank: 2, alpha: 4, dropout: 0.1, targets: ["q", "v"] };
    const base = initialise(parametersOf(loss), chance(2));
    const own = adapted(loss, lora);
    const baked = {
      weights: (one: string) => (base.views.has(one) ? { kind: "inline", data: base.view(one).data } : undefined),
    } as FitOptions["baked"];
    const [there, here] = [0, 1].map(() => {
      const made = optimizerNamed("adamw", adapterLayout(own), { weightDecay: 0.1, clip: 0.5 });
      initialise(adapterLayout(own), chance(4), made.weights);
      return made;
    });
    const found = await steps(there, { baked, device: { engine, threads: 1 }, resident: true }, own);
    expectAlike(there, here, found, await steps(here, { baked }, own));
    expect(held()).toBe(0);
  });

  it("leaves the host's buffers alone until they are brought home, and goes on from what they hold", async () => {
    const { engine } = holding();
    const device = { engine, threads: 1 };
    const [there, whole] = [fresh("adamw"), fresh("adamw")];
    const begin = there.weights.data.slice();
    const running = begun(there, { device, resident: true });
    for (let i = 0; i < 3; i++) await running.next();
    expect([there.steps, [...there.weights.data].every((value, i) => value === begin[i])]).toEqual([3, true]);
    await there.bringHome();
    expect([...there.weights.data].some((value, i) => value !== begin[i])).toBe(true);
    await running.return(undefined as never);
    const again = fresh("adamw");
    again.weights.data.set(there.weights.data);
    for (const [name, { data }] of there.state) again.state.get(name)?.data.set(data);
    again.steps = 3;
    const [rest, all] = [await steps(again, { device, resident: true }), await steps(whole, { device, resident: true })];
    expect(rest.map((one) => one.loss)).toEqual(all.slice(3).map((one) => one.loss));
    expect(again.weights.data).toEqual(whole.weights.data);
  });

  it("validates with the weights of the moment", async () => {
    const { engine } = holding();
    const seen: number[][] = [[], []];
    const validation = (of: number): FitOptions["validation"] => ({
      every: 3,
      async loss({ data }) {
        seen[of].push(data[0]);
        return 1;
      },
    });
    await steps(fresh("adamw"), { device: { engine, threads: 1 }, resident: true, validation: validation(0) });
    await steps(fresh("adamw"), { validation: validation(1) });
    expect(gradientGap(seen[0], seen[1])).toBeLessThan(1e-4);
  });

  it("touches nothing when the loss is not finite, and says where that began", async () => {
    const { engine, held } = holding();
    const optimizer = fresh("adamw");
    optimizer.weights.view("decoder/norm/scale").data[0] = Number.NaN;
    const before = optimizer.weights.data.slice();
    const run = steps(optimizer, { device: { engine, threads: 1 }, resident: true });
    await expect(run).rejects.toBeInstanceOf(NonFiniteError);
    await expect(run).rejects.toThrow(/^at step 1: the loss is NaN; it first appeared .*; the weights were not touched$/);
    expect([optimizer.steps, held()]).toEqual([0, 0]);
    expect(optimizer.weights.data).toEqual(before);
  });
});
