import { describe, expect, it } from "vitest";
import { array, elementCount } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { idsInMemory } from "../../src/batches/ids.ts";
import { trainingWindows } from "../../src/batches/windows.ts";
import { graphNodes } from "../../src/graph/graph.ts";
import { modelConfig, modelLoss } from "../../src/models/any.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { compile, parametersOf } from "../../src/runtime/compile.ts";
import { fit as fitted } from "../../src/training/fit.ts";
import { optimizer as makeOptimizer, type OptimizerName, optimizerNames } from "../../src/training/optimizers.ts";
import { parametersIn, trainedLayout } from "../../src/weights/freeze.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { architectures } from "../support/architectures.ts";

const device = nodeDevice({ threads: 2 });
const loss = decoderLoss({ layers: 2, heads: 2, width: 16, context: 8, vocab: 7, dropout: 0.1 });
const layout = parametersOf(loss);
const inside = (...scopes: string[]) => [...parametersIn(layout, scopes)];

describe("scopes", () => {
  it("are whole places: a parameter, or all that lies in a place", () => {
    expect(inside("decoder/tokens")).toEqual(["decoder/tokens"]);
    const block = inside("decoder/block.1");
    expect(block.length).toBeGreaterThan(4);
    expect(block.every((name) => name.startsWith("decoder/block.1/"))).toBe(true);
    expect(inside("/decoder/block.1/")).toEqual(block);
    expect(inside("decoder")).toEqual(layout.entries.map(({ name }) => name));
  });

  it("take * for a name and ** for any number of them", () => {
    expect(inside("decoder/block.*/attention")).toEqual([...inside("decoder/block.0/attention"), ...inside("decoder/block.1/attention")]);
    expect(inside("**/bias")).toEqual(layout.entries.flatMap(({ name }) => (name.endsWith("/bias") ? [name] : [])));
  });

  it("that hold nothing are named, with what is near or what there is", () => {
    expect(() => inside("decoder/tokns")).toThrow('no parameter lies in "decoder/tokns"; did you mean "decoder/tokens"?');
    expect(() => inside("decoder/block")).toThrow('did you mean "decoder/block.0"?');
    expect(() => inside("elsewhere")).toThrow(/there are decoder\/tokens, .*decoder\/block\.0, decoder\/block\.1/);
  });

  it("may not hold everything", () => {
    expect(() => trainedLayout(layout, ["decoder"])).toThrow("every parameter is frozen (decoder), so there is nothing to train");
  });
});

describe("what is frozen", () => {
  const digits = idsInMemory(Int32Array.from({ length: 400 }, (_, i) => (i * i) % 7));
  const batches = trainingWindows(digits, { batch: 4, context: 8 }, chance(1));
  const freeze = ["decoder/tokens", "decoder/block.0", "**/scale"];
  const trained = async (name: OptimizerName, accumulate: number) => {
    const optimizer = makeOptimizer(name, layout, { weightDecay: 0.1, decayAll: true, clip: 1, accumulates: accumulate > 1, freeze });
    initialise(layout, chance(2), optimizer.weights);
    const options = { steps: 3, learningRate: () => 1e-2, accumulate, chance: chance(3), device, clock: () => 0 };
    for await (const _ of fitted(loss, optimizer, batches, options));
    return optimizer;
  };

  it.each(optimizerNames.flatMap((name) => [1, 2].map((accumulate) => [name, accumulate] as const)))(
    "stays bit for bit, and the rest moves: %s, %i batches a step",
    async (name, accumulate) => {
      const start = initialise(layout, chance(2));
      const optimizer = await trained(name, accumulate);
      const frozen = parametersIn(layout, freeze);
      for (const { name: parameter } of layout.entries) {
        const [before, after] = [start, optimizer.weights].map((buffer) => [...buffer.view(parameter).data]);
        if (frozen.has(parameter)) expect(after, parameter).toEqual(before);
        else expect(after, parameter).not.toEqual(before);
      }
    },
  );

  it("has no gradient and no state", async () => {
    const { gradients, state } = await trained("adamw", 1);
    const rest = layout.entries.map(({ name }) => name).filter((name) => !parametersIn(layout, freeze).has(name));
    expect([...gradients.views.keys()]).toEqual(rest);
    for (const { data } of state.values()) expect(data.length).toBe(gradients.layout.total);
  });
});

/** Ids that every vocabulary and every list of labels has; lengths of 3. */
const small = (name: string, shape: readonly number[]) =>
  array(
    "int32",
    Array.from({ length: elementCount(shape) }, (_, i) => (name === "lengths" ? 3 : (5 * i) % 3)),
    [...shape],
  );

describe.each(architectures({ layers: 2, heads: 2, width: 8, hidden: 12, context: 6, vocab: 9 }))("%s", (_, given) => {
  it("computes the same gradients of what is trained, and nothing for the rest", async () => {
    const config = modelConfig(given);
    const fn = modelLoss(config);
    const all = parametersOf(fn);
    const names = all.entries.map(({ name }) => name);
    const first = names.findLast((name) => name.endsWith("/weight") || name.endsWith("/tokens")) as string;
    const freeze = names.filter((name) => name !== first);
    const weights = initialise(all, chance(4));
    const sizes = { batch: 2, time: 3, ...("source" in fn.inputs && { sourceTime: 4 }) };
    const feeds = Object.fromEntries(
      Object.entries(fn.inputs).map(([name, { shape }]) => [
        name,
        small(
          name,
          shape.map((dim) => dim.bind(sizes).known),
        ),
      ]),
    );
    const run = { weights, chance: chance(5) };
    const bound = { device, gradientOf: "loss", outputs: ["loss"] };
    const [whole, part] = [compile(fn, bound), compile(fn, { ...bound, gradientsFor: [first] })];
    const [full, few] = [makeOptimizer("sgd", all, {}), makeOptimizer("sgd", all, { freeze })].map(({ gradients }) => gradients);
    await whole.run(feeds, { ...run, gradients: full });
    await part.run(feeds, { ...run, gradients: few });
    const [wanted, found] = [full.view(first).data as Float32Array, few.view(first).data as Float32Array];
    for (const [i, value] of wanted.entries()) expect(found[i]).toBeCloseTo(value, 5);
    const [more, fewer] = [graphNodes(await whole.graph(sizes)).length, graphNodes(await part.graph(sizes)).length];
    expect(fewer).toBeLessThan(more);
    await Promise.all([whole.release(), part.release()]);
  });
});
