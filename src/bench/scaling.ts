import { array, elementCount, type HostArray } from "../base/arrays.ts";
import { chance } from "../base/chance.ts";
import { byStep, type Scaled, type Scaling, type ScalingStep, scalingHeads, scalingOf, scalingSteps } from "../cost/scaling.ts";
import { type TensorFunction, tensorFunction } from "../graph/graph.ts";
import type { Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import { float32, type TensorType } from "../graph/type.ts";
import { feedforward } from "../layers/feedforward.ts";
import { dense } from "../layers/linear.ts";
import { scoresOf } from "../layers/scores.ts";
import { compile } from "../node/device.ts";
import { slice } from "../ops/movement.ts";
import { matmul } from "../ops/products.ts";
import { parametersOf } from "../runtime/compile.ts";
import { initialise } from "../weights/initialise.ts";
import { interleave } from "./measure.ts";

/** The exponents of measured times, in seconds, for the steps that are counted too. */
export const measuredScaling = (threads: number): Promise<Scaling[]> => scalingOf((length, width) => secondsAt(length, width, threads));

async function secondsAt(length: number, width: number, threads: number): Promise<Scaled> {
  const functions = stepFunctions(length, width);
  const prepared = scalingSteps.map((step) => [step, contestant(functions[step], threads)] as const);
  const contestants = Object.fromEntries(prepared.map(([step, { run }]) => [step, { run, burst: 3 }])) as Record<
    ScalingStep,
    { run: () => Promise<unknown>; burst: number }
  >;
  const times = await interleave(contestants, 6);
  for (const [, { release }] of prepared) await release();
  return byStep((step) => times[step].best / 1000);
}

/** Each step of a layer alone. Only the first row of what it computes is given back, since copying the rest would be timed too. */
function stepFunctions(length: number, width: number): Record<ScalingStep, TensorFunction> {
  const x = float32([1, length, width]);
  const head = float32([1, scalingHeads, length, width / scalingHeads]);
  const pattern = float32([1, scalingHeads, length, length]);
  const step = (inputs: Record<string, TensorType>, build: (p: Scope, ...tensors: Tensor[]) => Tensor): TensorFunction =>
    tensorFunction(inputs, (p, tensors) => {
      const y = build(p.at("step"), ...Object.values(tensors));
      return { row: slice(y, y.rank - 2, 0, 1) };
    });
  return {
    projections: step({ x }, (p, h) => dense(p, h, 3 * width)),
    scores: step({ q: head, k: head }, (p, q, k) => scoresOf(p, "scaled", q, k)),
    "weighted sum": step({ pattern, v: head }, (_, a, v) => matmul(a, v)),
    "feed-forward": step({ x }, (p, h) => feedforward(p, h, { hidden: 4 * width, activation: "relu" })),
  };
}

function contestant(fn: TensorFunction, threads: number) {
  const compiled = compile(fn, { threads });
  const weights = initialise(parametersOf(fn), chance(1));
  const feeds = Object.fromEntries(Object.entries(fn.inputs).map(([name, type]) => [name, numbers(type)]));
  return { run: () => compiled.run(feeds, { weights }), release: () => compiled.release() };
}

function numbers({ shape }: TensorType): HostArray {
  const dims = shape.map((dim) => dim.known);
  const source = chance(2);
  return array(
    "float32",
    Float32Array.from({ length: elementCount(dims) }, (_, i) => source.uniform(i)),
    dims,
  );
}
