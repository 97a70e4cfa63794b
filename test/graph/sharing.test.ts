import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { GraphError } from "../../src/base/errors.ts";
import { buildGraph, tensorFunction } from "../../src/graph/graph.ts";
import { normal, ones } from "../../src/graph/leaves.ts";
import { layer, type Scope } from "../../src/graph/scope.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { float32 } from "../../src/graph/type.ts";
import { type BlockConfig, block } from "../../src/layers/block.ts";
import { drop } from "../../src/layers/dropout.ts";
import { dense } from "../../src/layers/linear.ts";
import { checkGradient } from "../../src/library/here.ts";
import { compile } from "../../src/node/device.ts";
import { mean, mul, sum } from "../../src/ops/index.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { AdamW } from "../../src/training/adam.ts";
import { countParameters } from "../../src/weights/count.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { parametersAsTensors } from "../../src/weights/load.ts";

const config: BlockConfig = {
  heads: 2,
  multiHead: "split",
  score: "scaled",
  attention: "softmax",
  mask: "before-softmax",
  positions: "none",
  dropout: 0,
  hidden: 8,
  activation: "relu",
  norm: "layer",
  normPlace: "pre",
  normAffine: true,
  residual: true,
  feedforward: true,
};

/** The same block so many times over. */
const repeated = (uses: number, place: (p: Scope, use: number) => Scope) =>
  tensorFunction({ x: float32(["batch", 3, 4]) }, (p, { x }) => {
    let y = x;
    for (let use = 0; use < uses; use++) y = block(place(p, use), y, config, { causal: true });
    return { loss: mean(mul(y, y)) };
  });
const shared = (uses: number) => repeated(uses, (p, use) => p.shared("block", use));

describe("parameters that are shared", () => {
  it("are counted, initialised, trained and saved once, however often they are used", () => {
    const [one, three] = [parametersOf(shared(1)), parametersOf(shared(3))];
    expect(three.entries.map(({ name }) => name)).toEqual(one.entries.map(({ name }) => name));
    expect(three.entries[0].name).toMatch(/^block\//);
    expect(three.total).toBe(one.total);
    expect(countParameters(three).count).toBe(one.total);
    const weights = initialise(three, chance(1));
    expect(weights.data).toEqual(initialise(one, chance(1)).data);
    const optimizer = new AdamW(three);
    for (const { data } of [optimizer.weights, optimizer.gradients, ...optimizer.state.values()]) expect(data.length).toBe(one.total);
    expect([...parametersAsTensors(weights)].map(([name]) => name)).toEqual(one.entries.map(({ name }) => name));
  });

  it("compute what as many layers compute whose weights are equal, and their gradients add up", async () => {
    const own = repeated(3, (p, use) => p.at("block", use));
    const [together, apart] = [parametersOf(shared(3)), parametersOf(own)];
    const weights = initialise(together, chance(2));
    const copies = initialise(apart, chance(2));
    for (const { name } of apart.entries) copies.view(name).data.set(weights.view(name.replace(/^block\.\d/, "block")).data as never);
    const gradients = async (fn: typeof own, buffer: typeof weights) => {
      const found = initialise(buffer.layout, chance(0));
      const x = { dtype: "float32", shape: [2, 3, 4], data: Float32Array.from({ length: 24 }, (_, i) => chance(3).normal(i)) } as const;
      const { loss } = await compile(fn, { gradientOf: "loss", threads: 1 }).run({ x }, { weights: buffer, gradients: found });
      return { loss: Number(loss.data[0]), found };
    };
    const [a, b] = [await gradients(shared(3), weights), await gradients(own, copies)];
    expect(a.loss).toBeCloseTo(b.loss, 5);
    for (const { name } of together.entries) {
      const parts = [0, 1, 2].map((use) => b.found.view(name.replace(/^block/, `block.${use}`)).data as Float32Array);
      const one = a.found.view(name).data as Float32Array;
      for (const [i, value] of one.entries()) expect(value).toBeCloseTo(parts[0][i] + parts[1][i] + parts[2][i], 4);
    }
  });

  it("have gradients that agree with finite differences in float64", async () => {
    const x = array(
      "float64",
      Float64Array.from({ length: 12 }, (_, i) => chance(3).normal(i)),
      [1, 3, 4],
    );
    const gap = await checkGradient(
      (p, inputs) =>
        [0, 1, 2].reduce((y, use) => block(p.shared("block", use), y, { ...config, activation: "gelu-tanh" }, { causal: true }), inputs.x),
      { x },
    );
    expect(gap).toBeLessThan(1e-6);
  });

  it("have taps and noise of their own at each use", () => {
    const fn = tensorFunction({ x: float32(["batch", 4]) }, (p, { x }) => {
      const use = layer((q, y: Tensor) => q.tap("output", drop(q.at("drop"), dense(q.at("dense"), y, 4), 0.5)));
      return { y: use(p.shared("step", 1), use(p.shared("step", 0), x)) };
    });
    const { outputs, noise } = buildGraph(fn, { taps: ["step.0/output", "step.1/output"] });
    expect([...outputs.keys()]).toEqual(["y", "step.0/output", "step.1/output"]);
    expect([...noise.keys()]).toEqual(["step.0/drop/dropout", "step.1/drop/dropout"]);
  });

  it("can be inside each other", () => {
    const fn = tensorFunction({}, (p) => {
      const all = [0, 1].flatMap((i) => [0, 1].map((j) => p.shared("outer", i).at("middle").shared("inner", j).param("w", [2], ones)));
      return { y: all.map((w) => sum(w)).reduce((a, b) => mul(a, b)) };
    });
    expect([...buildGraph(fn).parameters.keys()]).toEqual(["outer/middle/inner/w"]);
  });
});

describe("a parameter's name that is used again by accident", () => {
  const cure =
    'this parameter was declared before; give it another name, or share it: take its place by p.shared("…", use) each time, with another number for each use';
  it.each<[string, (p: Scope) => Tensor[]]>([
    ["at one place", (p) => [p.at("a").param("w", [2]), p.at("a").param("w", [2])]],
    ["in one use", (p) => [p.shared("a", 0).param("w", [2]), p.shared("a", 0).param("w", [2])]],
    ["shared, after one that is not", (p) => [p.at("a").param("w", [2]), p.shared("a", 0).param("w", [2])]],
    ["not shared, after one that is", (p) => [p.shared("a", 0).param("w", [2]), p.at("a").param("w", [2])]],
  ])("is an error: %s", (_, both) => {
    const fn = tensorFunction({}, (p) => ({ y: both(p).reduce((a, b) => mul(a, b)) }));
    expect(() => buildGraph(fn)).toThrow(new GraphError(`at a/w: ${cure}`));
  });

  it("is an error too where the uses do not declare the same", () => {
    const other = (shape: number[], start = ones) =>
      tensorFunction({}, (p) => ({ y: sum(p.shared("a", 0).param("w", [2], ones)), z: sum(p.shared("a", 1).param("w", shape, start)) }));
    expect(() => buildGraph(other([3]))).toThrow(
      new GraphError(
        "at a.1: the shared parameter a/w is float32[2] of ones, and here it is declared as float32[3] of ones; a use of it must declare the same",
      ),
    );
    expect(() => buildGraph(other([2], normal(0.5)))).toThrow("here it is declared as float32[2] of normal 0.5");
  });
});
