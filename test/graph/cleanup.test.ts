import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { finiteDifference, gradientGap } from "../../src/gradients/finite-difference.ts";
import { grad } from "../../src/gradients/grad.ts";
import { cleanUp } from "../../src/graph/cleanup.ts";
import { buildGraph, type Graph, graphNodes, tensorFunction } from "../../src/graph/graph.ts";
import { constant } from "../../src/graph/leaves.ts";
import { random } from "../../src/graph/samples.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { float64, int32, uint8 } from "../../src/graph/type.ts";
import { compile } from "../../src/node/device.ts";
import { nodeEngine } from "../../src/node/engine.ts";
import { emitOnnx, outputName } from "../../src/onnx/emit.ts";
import { fill } from "../../src/ops/fill.ts";
import { flattenRows } from "../../src/ops/flatten.ts";
import {
  add,
  concat,
  div,
  exp,
  expand,
  layerNorm,
  linear,
  logSoftmax,
  matmul,
  mean,
  mul,
  neg,
  pad,
  reshape,
  rmsNorm,
  sigmoid,
  silu,
  sin,
  slice,
  softmax,
  split,
  sub,
  sum,
  tanh,
  transpose,
} from "../../src/ops/index.ts";
import { foldConstants } from "../../src/runtime/fold.ts";

// Small random graphs: a list of steps, each taking earlier tensors [rows, columns] and giving another.

type Step = { readonly kind: number; readonly a: number; readonly b: number };

const steps: ((x: Tensor, y: Tensor, square: Tensor) => Tensor)[] = [
  (x, y) => add(x, y),
  (x, y) => sub(x, y),
  (x, y) => mul(x, y),
  (x, y) => div(x, add(mul(y, y), 1)),
  (x) => tanh(x),
  (x) => sigmoid(x),
  (x) => silu(x),
  (x) => sin(x),
  (x) => exp(neg(mul(x, x))),
  (x) => softmax(x),
  (x) => logSoftmax(x, { axis: 0 }),
  (x) => mul(rmsNorm(x), 0.5),
  (x, y) => add(layerNorm(x, sum(y, { axis: 0 })), y),
  (x, _, w) => linear(x, w),
  (x, y) => matmul(matmul(x, y, { transposeB: true, scale: 0.5 }), y),
  (x, y, w) => matmul(x, matmul(w, matmul(x, y, { transposeA: true }), { transposeB: true })),
  (x) => sub(x, mean(x, { axis: 1, keep: true })),
  (x) => add(x, sum(x, { axis: 0 })),
  (x) => transpose(transpose(x, [1, 0]), [1, 0]),
  (x) => reshape(reshape(x, [-1]), x.shape),
  (x) => concat(split(x, 1, [1, x.shape[1].minus(1)]).reverse(), 1),
  (x) => slice(pad(x, 0, 1, 2), 0, 1, x.shape[0].plus(1)),
  (x, y) => add(x, expand(sum(y), x.shape)),
  (x) => mul(x, fill(x.dtype, x.shape, 1)),
  (x) => add(mul(x, fill(x.dtype, x.shape, 2)), fill(x.dtype, x.shape, 0)),
];

const program = fc.record({
  rows: fc.integer({ min: 1, max: 4 }),
  columns: fc.integer({ min: 1, max: 4 }),
  steps: fc.array(fc.record({ kind: fc.nat(steps.length - 1), a: fc.nat(20), b: fc.nat(20) }), { minLength: 1, maxLength: 7 }),
});

function randomFunction(rows: number, columns: number, list: readonly Step[]) {
  return tensorFunction({ x: float64([rows, columns]), y: float64([rows, columns]), w: float64([columns, columns]) }, (_, { x, y, w }) => {
    const made = [x, y];
    for (const { kind, a, b } of list) made.push(steps[kind](made[a % made.length], made[b % made.length], w));
    const loss = mean(made.reduce((p, q) => add(p, q)));
    const [dx, dy, dw] = grad(loss, [x, y, w], { unused: "zero" });
    return { loss, dx, dy, dw };
  });
}

const feedsFor = (rows: number, columns: number) => ({
  x: random([rows, columns], 1, "float64"),
  y: random([rows, columns], 2, "float64"),
  w: random([columns, columns], 3, "float64"),
});

async function evaluate(graph: Graph, feeds: Record<string, HostArray>) {
  const session = await nodeEngine.createSession(emitOnnx(graph), { threads: 1 });
  const names = [...graph.outputs.keys()];
  const results = await session.run(feeds, names.map(outputName));
  return { session, values: Object.fromEntries(names.map((name) => [name, results[outputName(name)].data as Float64Array])) };
}

const computing = (graph: Graph) => graphNodes(graph).filter((node) => !["constant", "fill"].includes(node.op.name)).length;

describe("random graphs", () => {
  it("have gradients that agree with finite differences", async () => {
    await fc.assert(
      fc.asyncProperty(program, async ({ rows, columns, steps: list }) => {
        const graph = cleanUp(buildGraph(randomFunction(rows, columns, list)));
        const feeds = feedsFor(rows, columns);
        const { session, values } = await evaluate(graph, feeds);
        const inputs = [feeds.x, feeds.y, feeds.w];
        const loss = async ([x, y, w]: readonly HostArray[]) =>
          Number((await session.run({ x, y, w }, [outputName("loss")]))[outputName("loss")].data[0]);
        for (const [i, name] of ["dx", "dy", "dw"].entries()) {
          expect(gradientGap(values[name], await finiteDifference(loss, inputs, i, 1e-3))).toBeLessThanOrEqual(1e-6);
        }
        await session.release();
      }),
      { numRuns: 150, seed: 20 },
    );
  }, 120_000);

  it("keep their values when they are cleaned up and folded, and never have more nodes", async () => {
    await fc.assert(
      fc.asyncProperty(program, async ({ rows, columns, steps: list }) => {
        const graph = buildGraph(randomFunction(rows, columns, list));
        const clean = cleanUp(graph);
        const folded = await foldConstants(cleanUp(flattenRows(clean)), nodeEngine);
        const feeds = feedsFor(rows, columns);
        const [before, after] = [await evaluate(graph, feeds), await evaluate(folded, feeds)];
        for (const name of Object.keys(before.values)) {
          for (const [i, value] of before.values[name].entries()) expect(after.values[name][i]).toBeCloseTo(value, 10);
        }
        expect(computing(clean)).toBeLessThanOrEqual(computing(graph));
        await before.session.release();
        await after.session.release();
      }),
      { numRuns: 150, seed: 21 },
    );
  }, 120_000);
});

describe("cleaning up", () => {
  const evaluated = async (
    build: Parameters<typeof tensorFunction>[1],
    inputs: Parameters<typeof tensorFunction>[0],
    feeds: Record<string, HostArray>,
  ) => {
    const graph = buildGraph(tensorFunction(inputs, build));
    const clean = await foldConstants(cleanUp(flattenRows(cleanUp(graph))), nodeEngine);
    const [before, after] = [await evaluate(graph, feeds), await evaluate(clean, feeds)];
    expect(after.values).toEqual(before.values);
    return { clean, shape: clean.outputs.get("y")?.shape.map((dim) => dim.value), values: after.values.y };
  };

  it("does not take a constant [[[2]]] for a number: it adds axes", async () => {
    const two = constant(array("float64", [[[2]]]));
    const feeds = {
      a: array("float64", [
        [1, 2],
        [3, 4],
      ]),
    };
    const { shape } = await evaluated((_, { a }) => ({ y: mul(matmul(a, a), two) }), { a: float64([2, 2]) }, feeds);
    expect(shape).toEqual([1, 2, 2]);
  });

  it("leaves the arithmetic of integers to the engine", async () => {
    const x = { x: array("int32", [7]) };
    const half = await evaluated((_, { x: seven }) => ({ y: mul(div(add(mul(seven, 0), 7), 2), 2) }), { x: int32([1]) }, x);
    expect([...half.values]).toEqual([6]); // 7/2 is 3
    const bytes = await evaluated((_, { x: b }) => ({ y: div(add(b, 100), 2) }), { x: uint8([1]) }, { x: array("uint8", [200]) });
    expect([...bytes.values]).toEqual([22]); // 300 is 44
  });

  it("tells 0 from −0", async () => {
    const sides = [array("float64", [0]), array("float64", [-0])].map(constant);
    const { values } = await evaluated(
      (_, { x }) => ({
        y: concat(
          sides.map((zero) => div(x, zero)),
          0,
        ),
      }),
      { x: float64([1]) },
      { x: array("float64", [1]) },
    );
    expect([...values]).toEqual([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]);
  });

  it("does not compute a product twice to scale one of them", () => {
    const fn = tensorFunction({ a: float64([2, 2]) }, (_, { a }) => ({ y: mul(matmul(a, a), 2), z: matmul(a, a) }));
    expect(graphNodes(cleanUp(buildGraph(fn))).filter(({ op }) => op.name === "matmul")).toHaveLength(1);
  });

  it("moves a slice that is as long as the axis, but not the same", async () => {
    const fn = tensorFunction({ x: float64(["n"]), y: float64(["n+1"]) }, (_, { y }) => ({ y: slice(y, 0, 1, "n+1") }));
    const { y } = await compile(fn, { symbols: "open" }).run({ x: array("float64", [0, 0]), y: array("float64", [1, 2, 3]) });
    expect([...y.data]).toEqual([2, 3]);
  });

  it("survives a chain of thousands of factors", () => {
    const fn = tensorFunction({ x: float64([1]), h: float64([1]) }, (_, { x, h }) => {
      let y = exp(x);
      for (let i = 0; i < 20_000; i++) y = mul(y, h);
      return { y: mul(y, 2) };
    });
    expect(graphNodes(cleanUp(buildGraph(fn))).length).toBeGreaterThan(20_000);
  });

  it("computes nothing twice and nothing that no output needs", () => {
    const fn = tensorFunction({ x: float64([3]) }, (_, { x }) => {
      exp(sin(x)); // unused
      return { y: add(mul(tanh(x), 2), mul(tanh(x), 2)) };
    });
    const names = graphNodes(cleanUp(buildGraph(fn))).map((node) => node.op.name);
    expect(names).toEqual(["input", "tanh", "constant", "mul", "add"]);
  });

  it("folds what depends on no input", async () => {
    const fn = tensorFunction({ x: float64([3]) }, (_, { x }) => ({ y: add(x, exp(fill("float64", [x.shape[0]], 1))) }));
    const folded = await foldConstants(cleanUp(buildGraph(fn)), nodeEngine);
    expect(graphNodes(folded).map((node) => node.op.name)).toEqual(["input", "constant", "add"]);
  });
});
