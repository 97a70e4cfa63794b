import { describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { gradientGap } from "../../src/gradients/finite-difference.ts";
import type { TensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { modelConfig, modelLoss } from "../../src/models/any.ts";
import { adapted, loraTargets } from "../../src/models/lora.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import { type CompileOptions, compile, parametersOf } from "../../src/runtime/compile.ts";
import type { Device } from "../../src/runtime/device.ts";
import { initialise } from "../../src/weights/initialise.ts";

// One loop gives what the steps give that are written out one after the other: whatever the cell, however many layers, in both directions, for texts of
// different lengths; with the same weights, which have the same names.

const device = nodeDevice({ threads: 1 });
/** An engine that has no loops: what is one elsewhere is written out there. */
const withoutLoops: Device = { ...device, engine: { ...nodeEngine, can: (feature) => feature !== "scans" } };

const ids = (rows: number, time: number, seed: number): HostArray =>
  array(
    "int32",
    Int32Array.from({ length: rows * time }, (_, i) => chance(seed).integer(i, 9)),
    [rows, time],
  );

const feedsOf = (task: "lm" | "translate", time: number): Record<string, HostArray> => {
  const target = { ids: ids(3, time, 1), targets: ids(3, time, 2) };
  if (task === "lm") return target;
  const lengths = array("int32", Int32Array.of(time + 2, Math.max(1, time - 1), 1));
  return { source: ids(3, time + 2, 3), lengths, target: target.ids, targets: target.targets };
};

interface Outcome {
  readonly loss: number;
  readonly scores: HostArray;
  readonly gradients: ParameterBuffer;
}

async function outcome(fn: TensorFunction, feeds: Record<string, HostArray>, options: Partial<CompileOptions> = {}): Promise<Outcome> {
  const layout = parametersOf(fn);
  const [weights, gradients] = [new ParameterBuffer(layout), new ParameterBuffer(layout)];
  initialise(layout, chance(7), weights);
  for (let i = 0; i < weights.data.length; i++) weights.data[i] = 2 * weights.data[i] + 0.1 * chance(8).normal(i); // zeros would hide something
  const compiled = compile(fn, { device, gradientOf: "loss", outputs: ["loss", "scores"], ...options });
  const { loss, scores } = await compiled.run(feeds, { weights, gradients, chance: chance(9) });
  await compiled.release();
  return { loss: Number(loss.data[0]), scores, gradients };
}

function expectSame(a: Outcome, b: Outcome): void {
  expect(b.gradients.layout.entries).toEqual(a.gradients.layout.entries);
  expect(b.loss).toBeCloseTo(a.loss, 5);
  expect(b.scores.shape).toEqual(a.scores.shape);
  expect(gradientGap(a.scores.data as Float32Array, b.scores.data as Float32Array)).toBeLessThanOrEqual(1e-5);
  expect(gradientGap(a.gradients.data, b.gradients.data)).toBeLessThanOrEqual(1e-5);
}

const sizes = { model: "rnn", width: 6, vocab: 9, context: 16 } as const;
const cases = (["rnn", "gru", "lstm"] as const).flatMap((cell) =>
  [1, 2].flatMap((layers) => [
    { ...sizes, task: "lm" as const, cell, layers },
    { ...sizes, task: "translate" as const, cell, layers },
    { ...sizes, task: "translate" as const, cell, layers, bidirectional: true, dropout: 0.3 },
    { ...sizes, task: "translate" as const, cell, layers, bidirectional: true, attention: false },
  ]),
);

describe.each(cases.map((one) => [Object.entries(one).slice(4).join(" "), one] as const))("%s", (_, given) => {
  const fn = (recurrence: "unrolled" | "scanned") => modelLoss(modelConfig({ ...given, recurrence })) as TensorFunction;

  it("gives the same in a loop, with sizes known and open, and where there are no loops", async () => {
    for (const time of [1, 4]) {
      const feeds = feedsOf(given.task, time);
      const expected = await outcome(fn("unrolled"), feeds);
      expectSame(expected, await outcome(fn("scanned"), feeds));
      expectSame(expected, await outcome(fn("scanned"), feeds, { symbols: "open" }));
      expectSame(expected, await outcome(fn("scanned"), feeds, { symbols: "open", device: withoutLoops }));
    }
  });
});

it("serves all lengths in one session", async () => {
  const fn = modelLoss(modelConfig({ ...sizes, recurrence: "scanned" })) as TensorFunction;
  const layout = parametersOf(fn);
  const [weights, gradients] = [new ParameterBuffer(layout), new ParameterBuffer(layout)];
  initialise(layout, chance(7), weights);
  const compiled = compile(fn, { device, gradientOf: "loss", outputs: ["loss"], symbols: "open" });
  for (const time of [1, 3, 7]) await compiled.run(feedsOf("translate", time), { weights, gradients });
  expect(compiled.sessionCount).toBe(1);
  await compiled.release();
});

it("has the same adapters beside its matrices", async () => {
  const fn = (recurrence: "unrolled" | "scanned") =>
    modelLoss(modelConfig({ ...sizes, bidirectional: true, recurrence })) as TensorFunction;
  const targets = loraTargets(fn("scanned"), ["all"]);
  expect(targets).toEqual(loraTargets(fn("unrolled"), ["all"]));
  const lora = { rank: 2, alpha: 4, dropout: 0, targets };
  const feeds = feedsOf("translate", 4);
  expectSame(await outcome(adapted(fn("unrolled"), lora), feeds), await outcome(adapted(fn("scanned"), lora), feeds));
});
