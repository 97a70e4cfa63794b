import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import type { ParameterLayout } from "../../src/graph/parameters.ts";
import { modelConfig, modelLoss } from "../../src/models/any.ts";
import { adapted, adapterLayout } from "../../src/models/lora.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { compile, parametersOf } from "../../src/runtime/compile.ts";
import { isMuonMatrix, Muon } from "../../src/training/muon.ts";
import { remembered } from "../../src/training/optimizers.ts";
import { mostIterations, orthogonalFunction, quintics } from "../../src/training/orthogonal.ts";

// Muon's step by the engine against the same step written out with plain numbers in float64, and what is special of it.

const device = nodeDevice({ threads: 1 });

type Matrix = readonly (readonly number[])[];
const times = (a: Matrix, b: Matrix): number[][] => a.map((row) => b[0].map((_, j) => row.reduce((sum, x, k) => sum + x * b[k][j], 0)));
const turned = (a: Matrix): number[][] => a[0].map((_, j) => a.map((row) => row[j]));
const scaled = (a: Matrix, by: number): number[][] => a.map((row) => row.map((x) => by * x));
const plus = (...all: readonly Matrix[]): number[][] =>
  all[0].map((row, i) => row.map((_, j) => all.reduce((sum, one) => sum + one[i][j], 0)));
const normOf = (a: Matrix): number => Math.sqrt(a.flat().reduce((sum, x) => sum + x * x, 0));
const random = (rows: number, cols: number, seed: number): number[][] =>
  Array.from({ length: rows }, (_, i) => Array.from({ length: cols }, (_, j) => Math.fround(chance(seed).normal(i * cols + j))));

/** X ← aX + bXXᵀX + c(XXᵀ)²X, from X over the root of ‖XXᵀ‖. */
function byHand(x: Matrix, iterations: number): number[][] {
  let y = scaled(x, 1 / Math.sqrt(normOf(times(x, turned(x)))));
  for (const [a, b, c] of quintics(iterations).steps) {
    const gram = times(y, turned(y));
    y = plus(scaled(y, a), scaled(times(gram, y), b), scaled(times(gram, times(gram, y)), c));
  }
  return y;
}

/** Eigenvalues of a symmetric matrix, by Jacobi's rotations. */
function eigenvalues(symmetric: Matrix): number[] {
  const a = symmetric.map((row) => [...row]);
  const n = a.length;
  for (let sweep = 0; sweep < 30; sweep++)
    for (let p = 0; p < n; p++)
      for (let q = p + 1; q < n; q++) {
        if (Math.abs(a[p][q]) < 1e-15) continue;
        const angle = 0.5 * Math.atan2(2 * a[p][q], a[q][q] - a[p][p]);
        const [c, s] = [Math.cos(angle), Math.sin(angle)];
        for (let k = 0; k < n; k++) [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
        for (let k = 0; k < n; k++) [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
      }
  return a.map((row, i) => row[i]);
}

const singularValues = (x: Matrix): number[] =>
  eigenvalues(x.length <= x[0].length ? times(x, turned(x)) : times(turned(x), x)).map(Math.sqrt);

async function byEngine(matrices: readonly Matrix[], iterations: number): Promise<number[][][]> {
  const [rows, cols] = [matrices[0].length, matrices[0][0].length];
  const compiled = compile(orthogonalFunction(rows, cols, { iterations, scale: 1 }), { device });
  try {
    const { y } = await compiled.run({ x: array("float32", Float32Array.from(matrices.flat(2)), [matrices.length, rows, cols]) });
    const numbers = [...(y.data as Float32Array)];
    return matrices.map((_, n) => Array.from({ length: rows }, (_, i) => numbers.slice((n * rows + i) * cols, (n * rows + i + 1) * cols)));
  } finally {
    await compiled.release();
  }
}

describe("orthogonal matrices by products", () => {
  it.each([
    [12, 12],
    [10, 14],
    [8, 24],
    [24, 8],
  ])("of %i × %i are those of the formula, one or several at once", async (rows, cols) => {
    for (let iterations = 1; iterations <= mostIterations; iterations++) {
      const matrices = [1, 2, 3].map((seed) => scaled(random(rows, cols, seed), 10 ** (seed - 3)));
      const [all, [alone]] = [await byEngine(matrices, iterations), await byEngine([matrices[1]], iterations)];
      for (const [n, found] of all.entries()) {
        const wanted = byHand(rows <= cols ? matrices[n] : turned(matrices[n]), iterations);
        const own = rows <= cols ? found : turned(found);
        expect(normOf(plus(own, scaled(wanted, -1))) / normOf(wanted), `${iterations} iterations`).toBeLessThan(
          iterations > 3 ? 1e-3 : 1e-5,
        );
      }
      expect(alone).toEqual(all[1]);
    }
  });

  it("have singular values near 1, where they were not too far apart", async () => {
    for (const iterations of [2, 3, 4, 5]) {
      const [found] = await byEngine([random(16, 40, 7)], iterations);
      for (const value of singularValues(found)) expect(Math.abs(value - 1), `${iterations} iterations`).toBeLessThan(0.251);
    }
  });

  it("stay bounded where a matrix has fewer directions than rows", async () => {
    const thin = times(random(12, 2, 1), random(2, 40, 2));
    for (const iterations of [3, 5]) {
      const [found] = await byEngine([thin], iterations);
      expect(normOf(found)).toBeLessThan(1.26 * Math.SQRT2);
      expect(normOf(found)).toBeGreaterThan(0.74 * Math.SQRT2);
    }
  });

  it("stay bounded where the gradient vanishes, and are 0 where it is", async () => {
    const [none, tiny] = await byEngine([scaled(random(6, 6, 1), 0), scaled(random(6, 6, 1), 1e-12)], 3);
    expect(none.flat().every((x) => x === 0)).toBe(true);
    expect(normOf(tiny)).toBeLessThan(1);
  });

  it("the quintics send every value of their interval within 0.25 of 1, and the smallest grow with each iteration", () => {
    for (let iterations = 1; iterations <= mostIterations; iterations++) {
      const { from, steps } = quintics(iterations);
      const sent = (x: number) => steps.reduce((y, [a, b, c]) => a * y + b * y ** 3 + c * y ** 5, x);
      for (let i = 0; i <= 1000; i++) expect(Math.abs(sent(from ** (i / 1000)) - 1)).toBeLessThan(0.251);
    }
  });
});

const entry = (name: string, shape: readonly number[], offset: number, more = {}) =>
  ({
    name,
    shape,
    initialiser: { kind: "zeros" },
    part: "projections",
    offset,
    length: shape.reduce((a, b) => a * b, 1),
    ...more,
  }) as const;
const layout: ParameterLayout = {
  dtype: "float32",
  entries: [
    entry("tokens", [5, 4], 0, { part: "embedding" }),
    entry("qkv/weight", [8, 4], 20, { stacked: [4, 2, 2] }),
    entry("qkv/bias", [8], 52),
    entry("heads", [2, 3, 4], 60),
    entry("wide/weight", [4, 8], 84),
  ],
  total: 116,
};

describe("a step of Muon", () => {
  it("is that of the formulas: matrices one by one with momentum, the rest as AdamW, all with decay and clipping", async () => {
    const options = { weightDecay: 0.1, clip: 2, momentum: 0.9, beta1: 0.8, beta2: 0.95, iterations: 3 };
    const muon = new Muon(layout, options);
    muon.prepare(device);
    const start = Array.from({ length: 116 }, (_, i) => Math.fround(chance(1).normal(i)));
    muon.weights.data.set(start);
    const weights = [...start];
    const [momentum, second] = [new Float64Array(116), new Float64Array(116)];
    // Each with its rows, its columns and where it begins.
    const matrices = [
      [4, 4, 20],
      [2, 4, 36],
      [2, 4, 44],
      [3, 4, 60],
      [3, 4, 72],
      [4, 8, 84],
    ];
    for (let t = 1; t <= 3; t++) {
      const gradient = start.map((_, i) => Math.fround(chance(2).fork(t).normal(i)));
      muon.gradients.data.set(gradient);
      await muon.step(0.02);
      const scale = Math.min(1, 2 / Math.hypot(...gradient));
      for (const [rows, cols, at] of matrices) {
        const update = Array.from({ length: rows }, (_, i) =>
          Array.from({ length: cols }, (_, j) => {
            const place = at + i * cols + j;
            const g = gradient[place] * scale;
            momentum[place] = 0.9 * momentum[place] + g;
            return 0.9 * momentum[place] + g;
          }),
        );
        const wide = rows <= cols;
        const found = wide ? byHand(update, 3) : turned(byHand(turned(update), 3));
        for (const [k, value] of found.flat().entries())
          weights[at + k] = weights[at + k] * (1 - 0.02 * 0.1) - 0.02 * 0.2 * Math.sqrt(Math.max(rows, cols)) * value;
      }
      for (let i = 0; i < 116; i++) {
        if (i >= 20 && !(i >= 52 && i < 60)) continue;
        const g = gradient[i] * scale;
        momentum[i] = 0.8 * momentum[i] + 0.2 * g;
        second[i] = 0.95 * second[i] + 0.05 * g * g;
        const step = momentum[i] / (1 - 0.8 ** t) / (Math.sqrt(second[i] / (1 - 0.95 ** t)) + 1e-8);
        weights[i] -= 0.02 * (step + (i < 20 ? 0.1 * weights[i] : 0));
      }
    }
    for (const [i, value] of weights.entries()) expect(Math.abs(muon.weights.data[i] - value), `number ${i}`).toBeLessThan(1e-5);
    expect(muon.state.get("firstMoments")?.data.length).toBe(116);
    expect(muon.state.get("secondMoments")?.data.length).toBe(28);
    expect(remembered("muon", { trained: 116, matrices: 88 })).toBe(116 + 28);
    await muon.release();
  });

  it("moves every number of a matrix about as far as AdamW does", async () => {
    const big: ParameterLayout = { dtype: "float32", entries: [entry("a/weight", [96, 64], 0)], total: 96 * 64 };
    const muon = new Muon(big);
    muon.prepare(device);
    for (let i = 0; i < big.total; i++) muon.gradients.data[i] = chance(3).normal(i);
    await muon.step(1);
    const mean = normOf([[...muon.weights.data]]) / Math.sqrt(big.total);
    expect(mean).toBeGreaterThan(0.15);
    expect(mean).toBeLessThan(0.25);
    await muon.release();
  });

  it("wants an engine, and refuses stretches of numbers", async () => {
    const muon = new Muon(layout);
    muon.gradients.data.fill(1);
    await expect(muon.step(1)).rejects.toThrow("prepare(device)");
    expect(() => new Muon(layout, { part: () => ({ from: 0, to: 10 }) })).toThrow(
      "moves whole matrices, and with shardOptimizer each rank has a stretch of numbers; leave one of them out",
    );
  });
});

describe("what Muon moves as matrices", () => {
  const named = (config: Parameters<typeof modelConfig>[0]) => {
    const { entries } = parametersOf(modelLoss(modelConfig(config)));
    return entries.filter(isMuonMatrix).map(({ name, stacked }) => (stacked ? `${name} [${stacked}]` : name));
  };

  it("are the products of a decoder's blocks, and queries, keys and values each", () => {
    const config = { layers: 1, heads: 4, kvHeads: 2, width: 16, context: 8, vocab: 10, tie: false, positions: "learned" } as const;
    expect(named({ model: "decoder", ...config })).toEqual([
      "decoder/block.0/attention/qkv/weight [16,8,8]",
      "decoder/block.0/attention/out/weight",
      "decoder/block.0/feedforward/expand/weight",
      "decoder/block.0/feedforward/contract/weight",
    ]);
  });

  it("are an RNN's matrices, and each gate, but not what its scores are made of", () => {
    expect(named({ model: "rnn", cell: "gru", width: 8, vocab: 10 })).toEqual([
      "model/encoder/layer.0/forward/input/weight [8,8,8]",
      "model/encoder/layer.0/forward/state/weight [8,8,8]",
      "model/decoder/layer.0/input/weight [8,8,8]",
      "model/decoder/layer.0/state/weight [8,8,8]",
      "model/attention/query",
      "model/attention/key",
      "model/join/weight",
    ]);
  });

  it("are both matrices of an adapter", () => {
    const loss = modelLoss(modelConfig({ model: "decoder", layers: 1, heads: 2, width: 16, context: 8, vocab: 10 }));
    const { entries } = adapterLayout(adapted(loss, { rank: 2, alpha: 4, dropout: 0, targets: ["q"] }));
    expect(entries.map((one) => isMuonMatrix(one))).toEqual([true, true]);
  });
});
