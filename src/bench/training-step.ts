import { array } from "../base/arrays.ts";
import { chance } from "../base/chance.ts";
import { tensorFunction } from "../graph/graph.ts";
import { float32 } from "../graph/type.ts";
import { compile, nodeDevice } from "../node/device.ts";
import { matmul } from "../ops/products.ts";
import { type Contestant, interleave } from "./measure.ts";
import { trainingStep } from "./workload-step.ts";
import { workloads } from "./workloads.ts";

export interface TrainingResult {
  readonly name: string;
  readonly what: string;
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
/** FLOPs a second of that product, when it takes so many milliseconds. */
export const productFlops = (ms: number): number => (2 * side ** 3) / (ms / 1000);

/** Full training steps beside the best product of two matrices that the same engine reaches in the same run. */
export async function benchTrain(
  threads: number,
  peakMemory: (workload: string) => number,
  chosen = workloads,
  rounds?: number,
): Promise<TrainingBench> {
  const product = await matrixProduct(threads);
  const results: Omit<TrainingResult, "fraction">[] = [];
  let [bestProduct, medianProduct] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const workload of chosen) {
    const step = await trainingStep(workload, nodeDevice({ threads }));
    const firstLoss = await step.run();
    const timings = await interleave({ product, step }, rounds ?? workload.rounds);
    bestProduct = Math.min(bestProduct, timings.product.best);
    medianProduct = Math.min(medianProduct, timings.product.median);
    const { best, median } = timings.step;
    results.push({
      name: workload.name,
      what: workload.what,
      msPerStep: best,
      medianMsPerStep: median,
      tokensPerSecond: (workload.tokens / best) * 1000,
      gflops: step.flops / best / 1e6,
      peakMemoryBytes: peakMemory(workload.name),
      parameters: step.parameters,
      compileMs: step.compileMs,
      firstLoss,
      lastLoss: await step.run(),
    });
    await step.release();
  }
  const gflops = (ms: number) => productFlops(ms) / 1e9;
  return {
    matmul: { gflops: gflops(bestProduct), medianGflops: gflops(medianProduct) },
    workloads: results.map((result) => ({ ...result, fraction: result.gflops / gflops(bestProduct) })),
  };
}

/** The best product of two matrices: what everything else is compared with. */
export async function matrixProduct(threads: number): Promise<Contestant> {
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
