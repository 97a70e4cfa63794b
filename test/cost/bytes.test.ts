import { expect, it } from "vitest";
import { graphCost } from "../../src/graph/cost.ts";
import { buildGraph, tensorFunction } from "../../src/graph/graph.ts";
import type { Tensor } from "../../src/graph/tensor.ts";
import { float32, int32, type TensorType, uint8 } from "../../src/graph/type.ts";
import {
  attend,
  dropout,
  embedding,
  layerNorm,
  linear,
  reluSquared,
  reshape,
  rmsNorm,
  silu,
  slice,
  transpose,
} from "../../src/ops/index.ts";

const bytes = (inputs: Record<string, TensorType>, build: (...tensors: Tensor[]) => Tensor): number | undefined =>
  graphCost(buildGraph(tensorFunction(inputs, (_, tensors) => ({ y: build(...Object.values(tensors)) })))).bytes.value;

const x = float32([3, 8]);
const xBytes = 3 * 8 * 4;

it.each<[string, number, () => number | undefined]>([
  ["a view moves nothing", 0, () => bytes({ x }, (a) => reshape(a, [24]))],
  ["a transpose reads and writes", 2 * xBytes, () => bytes({ x }, (a) => transpose(a, [1, 0]))],
  ["a slice moves what it takes", 2 * 8 * 4, () => bytes({ x }, (a) => slice(a, 0, 1, 2))],
  ["a look-up reads the rows that it takes", 2 * 5 * 8 * 4, () => bytes({ table: float32([1000, 8]), ids: int32([5]) }, embedding)],
  ["a product reads both sides and writes", xBytes + 8 * 6 * 4 + 3 * 6 * 4, () => bytes({ x, w: float32([8, 6]) }, (a, w) => linear(a, w))],
  [
    "a bias is a pass of its own",
    xBytes + 8 * 6 * 4 + 6 * 4 + 3 * (3 * 6 * 4),
    () => bytes({ x, w: float32([8, 6]), b: float32([6]) }, (a, w, b) => linear(a, w, b)),
  ],
  ["LayerNorm is one kernel", 2 * xBytes + 2 * 3 * 4, () => bytes({ x }, (a) => layerNorm(a))],
  ["RMSNorm is three passes", 5 * xBytes, () => bytes({ x }, (a) => rmsNorm(a))],
  ["a squared ReLU is two passes, each over one tensor", 4 * xBytes, () => bytes({ x }, reluSquared)],
  ["SiLU is two passes", 5 * xBytes, () => bytes({ x }, silu)],
  [
    "dropout narrows its bytes, widens them and multiplies",
    4 * xBytes + 3 * 24,
    () => bytes({ x, n: uint8([3, 8]) }, (a, n) => dropout(a, n, 0.5)),
  ],
  [
    "attention writes its scores, turns them into a pattern and reads that",
    4 * (2 * 5 + 3 * 5 + 3 * 7 + 2 * 7) + 4 * 4 * (2 * 3),
    () => bytes({ q: float32([2, 5]), k: float32([3, 5]), v: float32([3, 7]) }, (q, k, v) => attend(q, k, v, { scale: 1 }).mixed),
  ],
])("%s", (_, expected, count) => {
  expect(count()).toBe(expected);
});
