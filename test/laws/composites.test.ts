import { describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { finiteDifference, gradientGap } from "../../src/gradients/finite-difference.ts";
import { grad } from "../../src/gradients/grad.ts";
import { Dim } from "../../src/graph/dim.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { input } from "../../src/graph/leaves.ts";
import { random } from "../../src/graph/samples.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { float32, float64, int32, uint8 } from "../../src/graph/type.ts";
import { compile } from "../../src/node/device.ts";
import {
  abs,
  type CrossEntropyOptions,
  causalMask,
  dropout,
  gelu,
  geluTanh,
  greater,
  masked,
  mul,
  reluSquared,
  sigmoidCrossEntropy,
  softmax,
  softmaxCrossEntropy,
  square,
  sum,
} from "../../src/ops/index.ts";
import { scatterRows } from "../../src/ops/lookup.ts";

// Functions that are made of several ops: values that can be checked by hand, and gradients.

async function value(build: (x: Tensor) => Tensor, x: HostArray): Promise<number[]> {
  const fn = tensorFunction({ x: (x.dtype === "float64" ? float64 : float32)(x.shape) }, (_, inputs) => ({ y: build(inputs.x) }));
  return Array.from((await compile(fn).run({ x })).y.data as Float64Array);
}

async function gradientLaw(build: (x: Tensor) => Tensor, x: HostArray): Promise<number> {
  const weights = random(await shapeOf(build, x), 5, x.dtype as "float64");
  const type = x.dtype === "float64" ? float64 : float32;
  const fn = tensorFunction({ x: type(x.shape), r: type(weights.shape) }, (_, inputs) => {
    const loss = sum(mul(build(inputs.x), inputs.r));
    return { loss, dx: grad(loss, [inputs.x])[0] };
  });
  const run = compile(fn, { threads: 1 });
  const loss = async ([a]: readonly HostArray[]) => Number((await run.run({ x: a, r: weights })).loss.data[0]);
  const { dx } = await run.run({ x, r: weights });
  const step = x.dtype === "float64" ? 1e-3 : 3e-2;
  return gradientGap(dx.data as Float64Array, await finiteDifference(loss, [x], 0, step));
}

async function shapeOf(build: (x: Tensor) => Tensor, x: HostArray): Promise<number[]> {
  const fn = tensorFunction({ x: (x.dtype === "float64" ? float64 : float32)(x.shape) }, (_, inputs) => ({ y: build(inputs.x) }));
  return [...(await compile(fn).run({ x })).y.shape];
}

/** A loss over fixed targets, as a function of the scores alone. */
function crossEntropy(ids: Int32Array, options: CrossEntropyOptions) {
  return async (scores: HostArray) => {
    const type = scores.dtype === "float64" ? float64 : float32;
    const fn = tensorFunction({ x: type(scores.shape), t: int32([ids.length]) }, (_, { x, t }) => {
      const loss = softmaxCrossEntropy(x, t, options);
      return { loss, dx: grad(loss, [x])[0] };
    });
    const run = compile(fn, { threads: 1 });
    const t = array("int32", ids);
    const { loss, dx } = await run.run({ x: scores, t });
    const numeric = await finiteDifference(async ([x]) => Number((await run.run({ x, t })).loss.data[0]), [scores], 0, 1e-3);
    return { loss: Number(loss.data[0]), gap: gradientGap(dx.data as Float64Array, numeric), dx: Array.from(dx.data as Float64Array) };
  };
}

describe("activations", () => {
  it("the exact GELU is x·Φ(x)", async () => {
    const y = await value(gelu, array("float32", [-1, 0, 1, 2]));
    for (const [i, wanted] of [-0.158655, 0, 0.841345, 1.954499].entries()) expect(y[i]).toBeCloseTo(wanted, 5);
    expect(await gradientLaw(gelu, random([3, 4], 1))).toBeLessThan(1e-3);
  });

  it("the tanh form of GELU is near it", async () => {
    const y = await value(geluTanh, array("float64", [-1, 0, 1, 2]));
    for (const [i, wanted] of [-0.158808, 0, 0.841192, 1.954598].entries()) expect(y[i]).toBeCloseTo(wanted, 6);
    expect(await gradientLaw(geluTanh, random([3, 4], 1, "float64"))).toBeLessThan(1e-6);
  });

  it("the squared ReLU is x² above 0, and its gradient 2x", async () => {
    expect(await value(reluSquared, array("float64", [-3, 0, 0.5, 2]))).toEqual([0, 0, 0.25, 4]);
    expect(await gradientLaw(reluSquared, random([3, 4], 1, "float64"))).toBeLessThan(1e-6);
  });

  it("square and absolute value", async () => {
    expect(await value(square, array("float64", [-3, 2]))).toEqual([9, 4]);
    expect(await value(abs, array("float64", [-3, 2]))).toEqual([3, 2]);
  });
});

describe("softmax cross-entropy", () => {
  it("of the lecture's example, probabilities 1/4, 1/3, 1/4, 1/3, is 1.242 (perplexity 3.464)", async () => {
    const rows = [0.25, 1 / 3, 0.25, 1 / 3].map((p) => [Math.log(p), Math.log(1 - p)]);
    const { loss } = await crossEntropy(Int32Array.of(0, 0, 0, 0), {})(array("float64", rows));
    expect(loss).toBeCloseTo(1.242, 3);
    expect(Math.exp(loss)).toBeCloseTo(3.464, 3);
  });

  it.each([{}, { smoothing: 0.1 }, { ignore: -1 }, { ignore: -1, smoothing: 0.2 }])("has a right gradient with %o", async (options) => {
    const ids = Int32Array.of(2, 0, "ignore" in options ? -1 : 1, 3);
    const { gap } = await crossEntropy(ids, options)(random([4, 5], 3, "float64"));
    expect(gap).toBeLessThan(1e-6);
  });

  it("does not count ignored positions: neither in the mean nor in the gradient", async () => {
    const scores = random([3, 4], 7, "float64");
    const all = await crossEntropy(Int32Array.of(1, 3, -100), { ignore: -100 })(scores);
    const two = await crossEntropy(Int32Array.of(1, 3), {})(array("float64", (scores.data as Float64Array).slice(0, 8), [2, 4]));
    expect(all.loss).toBeCloseTo(two.loss, 12);
    expect(all.dx.slice(8).map(Math.abs)).toEqual([0, 0, 0, 0]);
  });

  it("is 0, with a gradient of 0, when nothing counts", async () => {
    const { loss, dx } = await crossEntropy(Int32Array.of(-1, -1), { ignore: -1 })(random([2, 3], 1, "float64"));
    expect([loss, ...dx].map(Math.abs)).toEqual(new Array(7).fill(0));
  });

  it("with label smoothing ε mixes in the mean over all classes", async () => {
    const { loss } = await crossEntropy(Int32Array.of(0), { smoothing: 0.3 })(
      array("float64", [[Math.log(0.5), Math.log(0.25), Math.log(0.25)]]),
    );
    expect(loss).toBeCloseTo(-0.7 * Math.log(0.5) - 0.1 * (Math.log(0.5) + 2 * Math.log(0.25)), 12);
  });
});

describe("class weights", () => {
  const weights = [0.5, 2, 1, 3, 1];

  it.each([{ weights }, { weights, smoothing: 0.1 }, { weights, ignore: -1 }, { weights, ignore: -1, smoothing: 0.2 }])(
    "have a right gradient with %o",
    async (options) => {
      const ids = Int32Array.of(2, 0, "ignore" in options ? -1 : 1, 3);
      const { gap } = await crossEntropy(ids, options)(random([4, 5], 3, "float64"));
      expect(gap).toBeLessThan(1e-6);
    },
  );

  it("multiply the loss of each target, and the sum is divided by the number of targets", async () => {
    const scores = array("float64", [
      [Math.log(0.5), Math.log(0.5)],
      [Math.log(0.25), Math.log(0.75)],
      [0, 0],
    ]);
    const { loss } = await crossEntropy(Int32Array.of(0, 0, -1), { weights: [3, 1], ignore: -1 })(scores);
    expect(loss).toBeCloseTo((3 * Math.log(2) + 3 * Math.log(4)) / 2, 12);
  });

  it("are one for each class", async () => {
    const wrong = crossEntropy(Int32Array.of(0), { weights: [1, 1, 1] })(random([1, 2], 1, "float64"));
    await expect(wrong).rejects.toThrow("softmaxCrossEntropy: 3 weights for 2 classes; give one for each");
  });
});

describe("sigmoid cross-entropy", () => {
  const separate = async (scores: HostArray, truth: Int32Array, options: CrossEntropyOptions = {}) => {
    const fn = tensorFunction({ x: float64(scores.shape), t: int32(scores.shape) }, (_, { x, t }) => {
      const loss = sigmoidCrossEntropy(x, t, options);
      return { loss, dx: grad(loss, [x])[0] };
    });
    const run = compile(fn, { threads: 1 });
    const t = array("int32", truth, scores.shape);
    const { loss, dx } = await run.run({ x: scores, t });
    const numeric = await finiteDifference(async ([x]) => Number((await run.run({ x, t })).loss.data[0]), [scores], 0, 1e-3);
    return { loss: Number(loss.data[0]), dx: Array.from(dx.data as Float64Array), gap: gradientGap(dx.data as Float64Array, numeric) };
  };
  const truth = Int32Array.of(1, 0, 0, 1, 1, 1);

  it("is the mean of −ln of what each label's truth was given: by hand", async () => {
    const { loss } = await separate(array("float64", [[Math.log(3), 0]]), Int32Array.of(1, 0)); // σ = 3/4 and 1/2
    expect(loss).toBeCloseTo((Math.log(4 / 3) + Math.log(2)) / 2, 12);
    const weighted = await separate(array("float64", [[Math.log(3), 0]]), Int32Array.of(1, 0), { weights: [5, 7] });
    expect(weighted.loss).toBeCloseTo((5 * Math.log(4 / 3) + Math.log(2)) / 2, 12);
  });

  it.each([{}, { smoothing: 0.1 }, { weights: [0.5, 4, 2] }, { weights: [3, 1, 2], smoothing: 0.2 }])(
    "has a right gradient with %o",
    async (options) => {
      expect((await separate(random([2, 3], 4, "float64"), truth, options)).gap).toBeLessThan(1e-6);
    },
  );

  it("counts rows whose targets are -1 nowhere, and has a gradient of σ(x) − t at 0 too", async () => {
    const { loss, dx } = await separate(array("float64", [[0], [9]]), Int32Array.of(1, -1));
    expect(loss).toBeCloseTo(Math.log(2), 12);
    expect(dx.map((x) => x + 0)).toEqual([-0.5, 0]);
  });

  it("does not overflow", async () => {
    const { loss, dx } = await separate(array("float64", [[800, -800]]), Int32Array.of(0, 1));
    expect(loss).toBeCloseTo(800, 9);
    expect(dx).toEqual([0.5, -0.5]);
  });
});

describe("masks", () => {
  it("a causal mask shows each query the keys not after it, and the queries are the last ones", async () => {
    const fn = (query: number, key: number) => tensorFunction({}, () => ({ mask: causalMask(Dim.of(query), Dim.of(key)) }));
    expect([...(await compile(fn(3, 3)).run({})).mask.data]).toEqual([1, 0, 0, 1, 1, 0, 1, 1, 1]);
    expect([...(await compile(fn(2, 4)).run({})).mask.data]).toEqual([1, 1, 1, 0, 1, 1, 1, 1]);
  });

  it("a masked softmax sums to one, gives masked places 0, and a fully masked row no NaN", async () => {
    const rows = await value(
      (x) => softmax(masked(x, causalMask(Dim.of(2), Dim.of(2)))),
      array("float32", [
        [5, 9],
        [1, 1],
      ]),
    );
    expect(rows).toEqual([1, 0, 0.5, 0.5]);
    const none = tensorFunction({ x: float32([1, 2]) }, (_, { x }) => ({ y: softmax(masked(x, greater(x, 1e9))) }));
    expect([...(await compile(none).run({ x: array("float32", [[3, 4]]) })).y.data]).toEqual([0.5, 0.5]);
  });
});

describe("dropout", () => {
  it("keeps what its byte allows, scaled so that the mean stays, and the same in the gradient", async () => {
    const fn = tensorFunction({ x: float32([4]), noise: uint8([4]) }, (_, { x, noise }) => {
      const y = dropout(x, noise, 0.25); // bytes below 64 fall
      return { y, dx: grad(sum(y), [x])[0] };
    });
    const { y, dx } = await compile(fn).run({ x: array("float32", [3, 3, 3, 3]), noise: array("uint8", [0, 63, 64, 255]) });
    expect([...y.data]).toEqual([0, 0, 4, 4]);
    expect(Array.from(dx.data as Float32Array, (v) => Math.round(v * 1e6) / 1e6)).toEqual([0, 0, 1.333333, 1.333333]);
  });

  it("of rate 0 is nothing at all", () => {
    const [x, noise] = [input("x", float32([2])), input("noise", uint8([2]))];
    expect(dropout(x, noise, 0)).toBe(x);
    expect(() => dropout(x, noise, 1)).toThrow("dropout: the rate is a share from 0 to below 1, not 1");
  });
});

it("adding rows at repeated ids counts each of them", async () => {
  const fn = tensorFunction({ x: float32([3, 2]), ids: int32([3]) }, (_, { x, ids }) => ({ table: scatterRows(x, ids, Dim.of(3)) }));
  const { table } = await compile(fn).run({
    x: array("float32", [
      [1, 2],
      [10, 20],
      [100, 200],
    ]),
    ids: array("int32", [2, 0, 2]),
  });
  expect([...table.data]).toEqual([10, 20, 0, 0, 101, 202]);
});
