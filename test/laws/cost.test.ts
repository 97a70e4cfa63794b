import { describe, expect, it } from "vitest";
import { graphCost } from "../../src/graph/cost.ts";
import { buildGraph, tensorFunction } from "../../src/graph/graph.ts";
import { allOps } from "../../src/graph/op.ts";
import { printGraph } from "../../src/graph/print.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { float32, type TensorType } from "../../src/graph/type.ts";
import "../../src/entries/graph.ts";
import { attend, linear, matmul, tanh } from "../../src/ops/index.ts";
import { rowsProduct } from "../../src/ops/products.ts";

const cost = (inputs: Record<string, TensorType>, build: (...tensors: Tensor[]) => Tensor) =>
  graphCost(buildGraph(tensorFunction(inputs, (_, tensors) => ({ y: build(...Object.values(tensors)) }))));

describe("the cost of a product is 2mnk", () => {
  it.each<[string, number, () => ReturnType<typeof cost>]>([
    ["matmul", 2 * 3 * 5 * 7, () => cost({ a: float32([3, 5]), b: float32([5, 7]) }, (a, b) => matmul(a, b))],
    [
      "a batch of products",
      4 * 2 * 3 * 5 * 7,
      () => cost({ a: float32([4, 5, 3]), b: float32([4, 7, 5]) }, (a, b) => matmul(a, b, { transposeA: true, transposeB: true })),
    ],
    ["a broadcast batch", 4 * 2 * 3 * 5 * 7, () => cost({ a: float32([4, 3, 5]), b: float32([5, 7]) }, (a, b) => matmul(a, b))],
    ["linear", 2 * 12 * 5 * 7, () => cost({ x: float32([3, 4, 5]), w: float32([5, 7]) }, (x, w) => linear(x, w))],
    [
      "linear with a bias, one addition each",
      2 * 12 * 5 * 7 + 12 * 7,
      () => cost({ x: float32([3, 4, 5]), w: float32([7, 5]), b: float32([7]) }, (x, w, b) => linear(x, w, b, { transposed: true })),
    ],
    ["a weight's gradient", 2 * 12 * 5 * 7, () => cost({ x: float32([3, 4, 5]), y: float32([3, 4, 7]) }, (x, y) => rowsProduct(x, y))],
    [
      "attention: scores, mix, and five for each softmax",
      4 * (2 * 6 * 8 * 5 + 2 * 6 * 8 * 7 + 5 * 6 * 8),
      () => cost({ q: float32([4, 6, 5]), k: float32([4, 8, 5]), v: float32([4, 8, 7]) }, (q, k, v) => attend(q, k, v, { scale: 1 }).mixed),
    ],
  ])("%s", (_, flops, count) => {
    expect(count().flops.value).toBe(flops);
  });

  it("is a formula where sizes are open, and the bytes are those of inputs and outputs", () => {
    const { flops, bytes } = cost({ x: float32(["batch", "time", 8]), w: float32([8, 3]) }, (x, w) => linear(x, w));
    expect(flops.expression).toBe("48*batch*time");
    expect(bytes.expression).toBe("44*batch*time+96"); // 4 bytes · (8 in + 3 out), and the weight
  });
});

it("the ops without a float64 gradient law are these, each with its reason", () => {
  const exceptions = [...allOps.values()].filter((op) => op.float32Only).map((op) => [op.name, op.float32Only]);
  expect(exceptions).toEqual([
    ["erf", "ONNX Runtime has no Erf for float64 on the CPU"],
    ["erfGate", "ONNX Runtime has no Erf for float64 on the CPU"],
  ]);
});

it("a graph prints with places, shapes and costs", () => {
  const fn = tensorFunction({ x: float32(["batch", 2]) }, (p, { x }) => ({ y: tanh(linear(x, p.at("layer").param("weight", [2, 3]))) }));
  expect(printGraph(buildGraph(fn, { bind: { batch: 4 } }))).toBe(`input x: float32[batch=4, 2]
parameter layer/weight: float32[2, 3]
layer:
  %2 = linear(x, layer/weight) {transposed: false, scale: 1} : float32[batch=4, 3]   48 flops, 104 bytes
(top):
  %3 = tanh(%2) : float32[batch=4, 3]   12 flops, 96 bytes
output y = %3: float32[batch=4, 3]
total: 60 flops, 200 bytes`);
});
