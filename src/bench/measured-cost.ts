import { array, elementCount, type HostArray } from "../base/arrays.ts";
import { chance } from "../base/chance.ts";
import type { ModelCost } from "../cost/cost.ts";
import { bound, type Sizes } from "../cost/nodes.ts";
import { isLanguageModel, type Phase, type PhaseName, phaseNames, phaseOf } from "../cost/phases.ts";
import { type TensorFunction, tensorFunction } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { float32 } from "../graph/type.ts";
import type { ModelConfig } from "../models/any.ts";
import { compile, nodeDevice } from "../node/device.ts";
import { add } from "../ops/arithmetic.ts";
import { slice } from "../ops/movement.ts";
import { type Contestant, interleave, type Timing } from "./measure.ts";
import { matrixProduct, productFlops } from "./training-step.ts";
import { trainingStep } from "./workload-step.ts";
import { usualFlops, type Workload } from "./workloads.ts";

// Runs what was counted, with random weights, beside the best that the same engine reaches in the same moments.

export interface PhaseMeasure {
  readonly seconds: number;
  readonly medianSeconds: number;
  readonly flopsPerSecond: number;
  readonly bytesPerSecond: number;
  /** Of the best product of matrices, and of the best stream of additions. */
  readonly matmulShare: number;
  readonly streamShare: number;
  /** A decoder's training by the usual count of FLOPs: what `qkv bench train` calls its fraction. */
  readonly benchFraction?: number;
}

export interface CostMeasure {
  readonly threads: number;
  readonly matmulFlopsPerSecond: number;
  readonly streamBytesPerSecond: number;
  readonly phases: { readonly [Name in PhaseName]?: PhaseMeasure };
}

/** Seconds that the measurement of one phase should take, for how long it runs in a row, and how long the others take in between. */
const patience = 6;
const stretch = 0.15;
const others = 0.2;

export async function measureCost(cost: ModelCost, threads: number): Promise<CostMeasure> {
  const { model, phases } = cost;
  const [product, stream] = [await matrixProduct(threads), await additions(threads)];
  const timings = new Map<PhaseName, Timing>();
  let [bestProduct, bestStream] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const workload = trainingWorkload(model, cost);
  const step = await trainingStep(workload, nodeDevice({ threads }), { optimizer: cost.optimizer });
  for (const name of phaseNames.filter((one) => phases[one])) {
    const { run, release } =
      name === "training" ? step : inference(phaseOf(name, model, extentOf(cost)) as Phase, model, step.weights, threads);
    await run(); // compiles
    const begin = performance.now();
    await run();
    const seconds = (performance.now() - begin) / 1000;
    const burst = Math.min(10, Math.ceil(stretch / seconds));
    const rounds = Math.max(6, Math.round(patience / (burst * seconds + others)));
    const times = await interleave({ product, stream, phase: { run, burst } }, rounds);
    bestProduct = Math.min(bestProduct, times.product.best);
    bestStream = Math.min(bestStream, times.stream.best);
    timings.set(name, times.phase);
    await release();
  }
  const peaks = { flops: productFlops(bestProduct), bytes: streamed / (bestStream / 1000) };
  const measured = [...timings].map(([name, timing]) => [name, phaseMeasure(cost, name, timing, peaks)]);
  return { threads, matmulFlopsPerSecond: peaks.flops, streamBytesPerSecond: peaks.bytes, phases: Object.fromEntries(measured) };
}

const extentOf = ({ batch, length, sourceLength = length, decode }: ModelCost) => ({ batch, length, sourceLength, decode });

function phaseMeasure(cost: ModelCost, name: PhaseName, { best, median }: Timing, peaks: { flops: number; bytes: number }): PhaseMeasure {
  const { model, parameters, batch, length, phases } = cost;
  const { flops = 0, bytes = 0 } = phases[name] ?? {};
  const seconds = best / 1000;
  const usual = name === "training" && model.model === "decoder" ? batch * length * usualFlops(parameters, model, length) : undefined;
  return {
    seconds,
    medianSeconds: median / 1000,
    flopsPerSecond: flops / seconds,
    bytesPerSecond: bytes / seconds,
    matmulShare: flops / seconds / peaks.flops,
    streamShare: bytes / seconds / peaks.bytes,
    ...(usual !== undefined && { benchFraction: usual / seconds / peaks.flops }),
  };
}

const streamLength = 8 * 2 ** 20;
const passes = 4;
/** Each addition reads two tensors and writes one. */
const streamed = passes * 3 * 4 * streamLength;

/** Additions of tensors too large for a cache, one after the other: the engine's own stream of memory. */
async function additions(threads: number): Promise<Contestant> {
  const fn = tensorFunction({ x: float32([streamLength]) }, (_, { x }) => {
    let y = x;
    for (let i = 0; i < passes; i++) y = add(y, x);
    return { first: slice(y, 0, 0, 1) };
  });
  const compiled = compile(fn, { threads });
  const x = array("float32", new Float32Array(streamLength).fill(1));
  await compiled.run({ x });
  return { run: () => compiled.run({ x }), burst: 2 };
}

/** A phase without gradients, weights baked in. */
function inference({ fn, options, sizes }: Phase, model: ModelConfig, weights: ParameterBuffer, threads: number) {
  const compiled = compile(fn, { ...options, threads, weights: (name) => ({ kind: "inline", data: weights.view(name).data }) });
  const feeds = feedsOf(fn, sizes, model, 1);
  return { run: () => compiled.run(feeds), release: () => compiled.release() };
}

function trainingWorkload(model: ModelConfig, cost: ModelCost): Workload {
  const { fn, options, sizes } = phaseOf("training", model, extentOf(cost)) as Phase;
  return {
    name: model.model,
    what: `a training step of this ${model.model}`,
    loss: fn,
    sizes,
    ...(options.symbols === "open" && { symbols: "open" }),
    tokens: cost.batch * (cost.length + (isLanguageModel(model) ? 0 : (cost.sourceLength ?? 0))),
    flops: () => cost.phases.training?.flops ?? 0,
    feeds: (source) => feedsOf(fn, sizes, model, source.integer(0, 1000)),
    burst: 1,
    rounds: 1,
  };
}

/** Something of the right kind for every input of a phase. */
function feedsOf(fn: TensorFunction, sizes: Sizes, model: ModelConfig, seed: number): Record<string, HostArray> {
  const { time = 1, sourceTime = time, past = 0 } = sizes;
  const whole: Readonly<Record<string, number>> = { lengths: sourceTime, before: past, last: time - 1, count: time };
  const labels = !("labels" in model) ? model.vocab : model.labelling === "several" ? 2 : model.labels;
  const below: Readonly<Record<string, number>> = { targets: labels, source: ("sourceVocab" in model && model.sourceVocab) || model.vocab };
  const source = chance(seed);
  return Object.fromEntries(
    Object.entries(fn.inputs).map(([name, { dtype, shape }]) => {
      const dims = shape.map((dim) => bound(dim, sizes));
      const draw = source.fork(name);
      const value = (i: number) =>
        dtype === "float32" ? 2 * draw.uniform(i) - 1 : (whole[name] ?? draw.integer(i, below[name] ?? model.vocab));
      const numbers = Array.from({ length: elementCount(dims) }, (_, i) => value(i));
      return [name, array(dtype, dtype === "float32" ? Float32Array.from(numbers) : Int32Array.from(numbers), dims)];
    }),
  );
}
