import { array, type HostArray } from "../base/arrays.ts";
import { type Chance, chance } from "../base/chance.ts";
import { tensorFunction } from "../graph/graph.ts";
import { float32 } from "../graph/type.ts";
import type { DecoderInput } from "../models/config.ts";
import { decoderLoss } from "../models/decoder.ts";
import { matmul } from "../ops/products.ts";
import { compile, parametersOf } from "../runtime/compile.ts";
import { AdamW } from "../training/adamw.ts";
import { initialise } from "../weights/initialise.ts";
import { type Contestant, interleave } from "./measure.ts";

export interface Workload {
  readonly name: string;
  readonly config: DecoderInput & { readonly layers: number; readonly width: number; readonly context: number };
  readonly batch: number;
  /** Steps in a row, and how often. */
  readonly burst: number;
  readonly rounds: number;
}

export const workloads: readonly Workload[] = [
  { name: "W1", config: { layers: 4, heads: 4, width: 128, context: 64, vocab: 65 }, batch: 12, burst: 10, rounds: 25 },
  { name: "W2", config: { layers: 6, heads: 6, width: 384, context: 256, vocab: 65 }, batch: 8, burst: 3, rounds: 8 },
];

export interface TrainingResult {
  readonly name: string;
  readonly msPerStep: number;
  readonly medianMsPerStep: number;
  readonly tokensPerSecond: number;
  readonly gflops: number;
  readonly fraction: number;
  readonly peakMemoryBytes: number;
  readonly parameters: number;
  readonly compileMs: number;
  readonly firstLoss: number;
  readonly lastLoss: number;
}

export interface TrainingBench {
  readonly matmul: { readonly gflops: number; readonly medianGflops: number };
  readonly workloads: readonly TrainingResult[];
}

const side = 1024;

/** Full training steps beside the best product of two matrices that the same engine reaches in the same run. */
export async function benchTrain(threads: number, peakMemory: () => number, chosen = workloads): Promise<TrainingBench> {
  const product = await matrixProduct(threads);
  const results: Omit<TrainingResult, "fraction">[] = [];
  let [bestProduct, medianProduct] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const workload of chosen) {
    const step = await trainingStep(workload, threads);
    const firstLoss = await step.run();
    const timings = await interleave({ product, step }, workload.rounds);
    bestProduct = Math.min(bestProduct, timings.product.best);
    medianProduct = Math.min(medianProduct, timings.product.median);
    const { best, median } = timings.step;
    const tokens = workload.batch * workload.config.context;
    results.push({
      name: workload.name,
      msPerStep: best,
      medianMsPerStep: median,
      tokensPerSecond: (tokens / best) * 1000,
      gflops: stepFlops(workload, step.parameters) / best / 1e6,
      peakMemoryBytes: peakMemory(),
      parameters: step.parameters,
      compileMs: step.compileMs,
      firstLoss,
      lastLoss: await step.run(),
    });
    await step.release();
  }
  const gflops = (ms: number) => (2 * side ** 3) / ms / 1e6;
  return {
    matmul: { gflops: gflops(bestProduct), medianGflops: gflops(medianProduct) },
    workloads: results.map((result) => ({ ...result, fraction: result.gflops / gflops(bestProduct) })),
  };
}

/** tokens · (6 · parameters + 12 · layers · width · context): the usual count of a step, forward and backward. */
function stepFlops({ batch, config: { layers, width, context } }: Workload, parameters: number): number {
  return batch * context * (6 * parameters + 12 * layers * width * context);
}

async function matrixProduct(threads: number): Promise<Contestant> {
  const source = chance(1);
  const matrix = (seed: number) =>
    array(
      "float32",
      Float32Array.from({ length: side * side }, (_, i) => source.fork(seed).normal(i)),
      [side, side],
    );
  const fn = tensorFunction({ a: float32([side, side]), b: float32([side, side]) }, (_, { a, b }) => ({ c: matmul(a, b) }));
  const [a, b] = [matrix(1), matrix(2)];
  const compiled = compile(fn, { threads });
  await compiled.run({ a, b });
  return { run: () => compiled.run({ a, b }), burst: 5 };
}

/** Forward, backward and AdamW with clipping, on tokens that can be learned. */
export async function trainingStep({ config, batch, burst }: Workload, threads: number, profile?: string) {
  const loss = decoderLoss(config);
  const layout = parametersOf(loss);
  const optimizer = new AdamW(layout, { beta2: 0.99, weightDecay: 0.1, clip: 1 });
  initialise(layout, chance(1), optimizer.weights);
  const compiled = compile(loss, { gradientOf: "loss", outputs: ["loss"], threads, profile });
  const start = performance.now();
  await compiled.prepare({ batch, time: config.context });
  const compileMs = performance.now() - start;
  const batches = Array.from({ length: 64 }, (_, i) => tokens(config, batch, chance(2).fork(i)));
  let steps = 0;
  const run = async (): Promise<number> => {
    const result = await compiled.run(batches[steps++ % batches.length], { weights: optimizer.weights, gradients: optimizer.gradients });
    optimizer.step(1e-3);
    return Number(result.loss.data[0]);
  };
  return {
    run,
    burst,
    parameters: layout.total,
    compileMs,
    release: () => compiled.release(),
    endProfiling: () => compiled.endProfiling(),
  };
}

/** Windows of a made-up text with some order in it. */
function tokens({ context, vocab }: Workload["config"], batch: number, source: Chance): { ids: HostArray; targets: HostArray } {
  const text = (at: number) => (Math.floor((at * at) / 7) + at) % vocab;
  const ids = new Int32Array(batch * context);
  const targets = new Int32Array(batch * context);
  for (let row = 0; row < batch; row++) {
    const start = source.integer(row, 20_000);
    for (let t = 0; t < context; t++) {
      ids[row * context + t] = text(start + t);
      targets[row * context + t] = text(start + t + 1);
    }
  }
  return { ids: array("int32", ids, [batch, context]), targets: array("int32", targets, [batch, context]) };
}
