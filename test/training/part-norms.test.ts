import { expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { modelLoss } from "../../src/models/any.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { fit as going, type StepReport } from "../../src/training/fit.ts";
import { optimizer as make, type OptimizerName } from "../../src/training/optimizers.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { cases, symbolsOf } from "../support/trainees.ts";

// Norms by layer: together they are those of the whole, and whoever takes them changes nothing.

const steps = 5;

interface Wanted {
  readonly optimizer?: OptimizerName;
  readonly partsEvery?: number;
  readonly accumulate?: number;
  readonly freeze?: readonly string[];
}

async function trained(name: string, { optimizer: kind = "adamw", partsEvery, accumulate = 1, freeze }: Wanted) {
  const { model, batches } = cases[name];
  const loss = modelLoss(model);
  const layout = parametersOf(loss);
  const optimizer = make(kind, layout, { weightDecay: 0.1, clip: 0.5, accumulates: accumulate > 1, ...(freeze && { freeze }) });
  initialise(layout, chance(3), optimizer.weights);
  const reports: StepReport[] = [];
  const weights = [Float32Array.from(optimizer.weights.data as Float32Array)];
  const taken = going(loss, optimizer, batches(4), {
    ...{ steps, accumulate, chance: chance(2), learningRate: () => 0.01, clock: () => 0 },
    ...(partsEvery !== undefined && { partsEvery }),
    device: nodeDevice({ threads: 1 }),
    symbols: symbolsOf(model),
  });
  for await (const report of taken) {
    if (report.kind !== "step") continue;
    reports.push(report);
    weights.push(Float32Array.from(optimizer.weights.data as Float32Array));
  }
  return { reports, weights };
}

const length = (numbers: Iterable<number>): number => Math.sqrt([...numbers].reduce((sum, one) => sum + one * one, 0));

const kinds: readonly (readonly [string, Wanted])[] = [
  ["a decoder", {}],
  ["an encoder that classifies", {}],
  ["an RNN", {}],
  ["a decoder", { optimizer: "adam" }],
  ["a decoder", { optimizer: "sgd", accumulate: 2 }],
  ["an encoder–decoder", { freeze: ["model/encoder"] }],
];

it.each(kinds)("of %s, trained with %o", async (name, wanted) => {
  const [plain, told] = [await trained(name, wanted), await trained(name, { ...wanted, partsEvery: 2 })];
  expect(told.weights).toEqual(plain.weights);
  expect(told.reports.map(({ parts: _, ...report }) => report)).toEqual(plain.reports);
  expect(told.reports.map(({ parts }) => parts !== undefined)).toEqual([false, true, false, true, false]);
  for (const { step, norm, parts = [] } of told.reports.filter((report) => report.parts)) {
    const [before, after] = [told.weights[step - 1], told.weights[step]];
    expect(length(parts.map(({ gradient }) => gradient))).toBeCloseTo(norm, 5);
    expect(length(parts.map(({ weight }) => weight))).toBeCloseTo(length(after), 9);
    expect(length(parts.map(({ update }) => update))).toBeCloseTo(length(after.map((one, i) => one - before[i])), 6);
    expect(new Set(parts.map((part) => part.name)).size).toBe(parts.length);
    for (const part of parts) expect(part.weight).toBeGreaterThanOrEqual(0);
    const frozen = parts.filter((part) => wanted.freeze && part.name.startsWith("encoder/"));
    expect(frozen.every(({ gradient, update }) => gradient === 0 && update === 0)).toBe(true);
  }
});

it("the parts are called embedding, blocks and head, of both stacks where there are two", async () => {
  const names = async (name: string) => (await trained(name, { partsEvery: steps })).reports.at(-1)?.parts?.map((part) => part.name);
  expect(await names("a decoder")).toEqual(["embedding", "block.0", "head"]);
  const both = await names("an encoder–decoder");
  expect(both?.slice(0, 3)).toEqual(["embedding", "encoder/embedding", "encoder/block.0"]);
  expect(both).toContain("decoder/block.0");
});
