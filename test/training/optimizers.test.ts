import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import type { ParameterLayout } from "../../src/graph/parameters.ts";
import { AdamW } from "../../src/training/adam.ts";
import { optimizer } from "../../src/training/optimizers.ts";

/** A matrix of 5×7 and a vector of 6: lengths that are no multiple of a vector register. */
const layout: ParameterLayout = {
  dtype: "float32",
  total: 41,
  entries: [
    { name: "matrix", shape: [5, 7], initialiser: { kind: "zeros" }, part: "other", offset: 0, length: 35 },
    { name: "vector", shape: [6], initialiser: { kind: "zeros" }, part: "other", offset: 35, length: 6 },
  ],
};
const options = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0.1, clip: 1 };

/** The same in plain TypeScript and float64, as the paper writes it. */
function reference(weights: number[], gradients: number[][], rate: number): number[] {
  const w = [...weights];
  const [m, v] = [w.map(() => 0), w.map(() => 0)];
  for (const [t, gradient] of gradients.entries()) {
    const norm = Math.hypot(...gradient);
    const scale = norm > options.clip ? options.clip / norm : 1;
    for (const [i, raw] of gradient.entries()) {
      const g = raw * scale;
      m[i] = options.beta1 * m[i] + (1 - options.beta1) * g;
      v[i] = options.beta2 * v[i] + (1 - options.beta2) * g * g;
      const step = m[i] / (1 - options.beta1 ** (t + 1)) / (Math.sqrt(v[i] / (1 - options.beta2 ** (t + 1))) + options.epsilon);
      w[i] -= rate * (step + (i < 35 ? options.weightDecay * w[i] : 0)); // only the matrix decays
    }
  }
  return w;
}

describe("AdamW", () => {
  it("equals the formulas over several steps, with clipping, and decays matrices only", async () => {
    const optimizer = new AdamW(layout, options);
    const source = chance(4);
    const start = Array.from({ length: 41 }, (_, i) => Math.fround(source.normal(i)));
    optimizer.weights.data.set(start);
    const gradients = [0.01, 0.5, 3].map((size, t) => start.map((_, i) => Math.fround(size * source.fork(t).normal(i))));
    for (const gradient of gradients) {
      optimizer.gradients.data.set(gradient);
      expect(await optimizer.step(1e-2)).toBeCloseTo(Math.hypot(...gradient), 4);
    }
    const wanted = reference(start, gradients, 1e-2);
    for (const [i, value] of wanted.entries()) expect(optimizer.weights.data[i]).toBeCloseTo(value, 5);
  });

  it("measures the norm of a long gradient to float32's precision", () => {
    const entries = [
      { name: "long", shape: [100_003], initialiser: { kind: "zeros" as const }, part: "other" as const, offset: 0, length: 100_003 },
    ];
    const optimizer = new AdamW({ dtype: "float32", total: 100_003, entries });
    let sum = 0;
    for (let i = 0; i < 100_003; i++) {
      optimizer.gradients.data[i] = chance(1).normal(i);
      sum += optimizer.gradients.data[i] ** 2;
    }
    expect(Math.abs(optimizer.gradientNorm() / Math.sqrt(sum) - 1)).toBeLessThan(1e-6);
  });

  it("touches nothing when a gradient is not finite", async () => {
    const optimizer = new AdamW(layout, options);
    optimizer.weights.data.fill(1);
    optimizer.gradients.data.fill(0.1);
    optimizer.gradients.data[40] = Number.NaN;
    expect(await optimizer.step(0.1)).toBeNaN();
    expect(optimizer.weights.data.every((w) => w === 1)).toBe(true);
    expect(optimizer.firstMoments.data.every((m) => m === 0)).toBe(true);
  });

  it("lets moments fall to zero before they become denormal", async () => {
    const optimizer = new AdamW(layout, options);
    optimizer.gradients.data.fill(1e-20);
    for (let i = 0; i < 400; i++) {
      await optimizer.step(1e-3);
      if (i === 0) optimizer.gradients.data.fill(0);
    }
    expect([...optimizer.firstMoments.data, ...optimizer.secondMoments.data].every((x) => x === 0)).toBe(true);
  });
});

/** Plain loops in float64, from the papers. */
function byHand(kind: "adam" | "sgd", start: readonly number[], gradients: readonly (readonly number[])[], rate: number): number[] {
  const w = [...start];
  const [m, v] = [w.map(() => 0), w.map(() => 0)];
  for (const [t, gradient] of gradients.entries()) {
    for (const [i, raw] of gradient.entries()) {
      const g = raw + (i < 35 ? 0.1 * w[i] : 0); // the decay is part of the gradient, for the matrix only
      if (kind === "sgd") {
        v[i] = 0.9 * v[i] + g;
        w[i] -= rate * v[i];
        continue;
      }
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.99 * v[i] + 0.01 * g * g;
      w[i] -= (rate * (m[i] / (1 - 0.9 ** (t + 1)))) / (Math.sqrt(v[i] / (1 - 0.99 ** (t + 1))) + 1e-8);
    }
  }
  return w;
}

describe("Adam and SGD", () => {
  it.each(["adam", "sgd"] as const)("%s equals its formulas over several steps", async (kind) => {
    const own = optimizer(kind, layout, { beta1: 0.9, beta2: 0.99, weightDecay: 0.1 });
    const start = Array.from({ length: 41 }, (_, i) => Math.fround(chance(5).normal(i)));
    own.weights.data.set(start);
    const gradients = [1, 2, 3].map((t) => start.map((_, i) => Math.fround(chance(6).fork(t).normal(i))));
    for (const gradient of gradients) {
      own.gradients.data.set(gradient);
      await own.step(1e-2);
    }
    for (const [i, value] of byHand(kind, start, gradients, 1e-2).entries()) expect(own.weights.data[i]).toBeCloseTo(value, 5);
    expect(own.steps).toBe(3);
  });

  it("let biases decay too when asked", async () => {
    const own = optimizer("sgd", layout, { beta1: 0, weightDecay: 0.5, decayAll: true });
    own.weights.data.fill(1);
    await own.step(1);
    expect([...own.weights.data]).toEqual(new Array(41).fill(0.5));
  });
});

describe("gradients that add up", () => {
  it("count by their shares", () => {
    const own = new AdamW(layout, { accumulates: true });
    own.gradients.data.fill(1);
    own.accumulate(0.25, "first");
    own.gradients.data.fill(2);
    own.accumulate(0.5, "middle");
    own.gradients.data.fill(4);
    own.accumulate(0.25, "last");
    expect([...own.gradients.data]).toEqual(new Array(41).fill(2.25));
  });

  it("need a buffer of their own", () => {
    expect(() => new AdamW(layout).accumulate(1, "first")).toThrow("this optimizer was not made to accumulate");
  });
});
