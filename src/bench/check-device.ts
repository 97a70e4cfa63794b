import { array, elementCount, type FloatType, type HostArray, isFloat } from "../base/arrays.ts";
import { chance } from "../base/chance.ts";
import { EngineError } from "../base/errors.ts";
import { pause } from "../base/turns.ts";
import type { Batches } from "../batches/batch.ts";
import { speakerOf } from "../generation/speaker.ts";
import { gradientGap } from "../gradients/finite-difference.ts";
import { grad } from "../gradients/grad.ts";
import { type TensorFunction, tensorFunction } from "../graph/graph.ts";
import { allOps, type Example, type Op } from "../graph/op.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import { bound, concrete, random, samples, sizeVariants } from "../graph/samples.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { TensorType } from "../graph/type.ts";
import { type ModelConfig, type ModelInput, modelConfig, modelLoss } from "../models/any.ts";
import { deviceNamed } from "../node/devices.ts";
import "../ops/index.ts";
import { add, mul } from "../ops/arithmetic.ts";
import { sum } from "../ops/sum.ts";
import { compile, parametersOf } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { baked } from "../trained/baked.ts";
import { fit } from "../training/fit.ts";
import { AdamW } from "../training/optimizers.ts";
import { initialise } from "../weights/initialise.ts";
import { weightsInMemory } from "../weights/weights.ts";

// Whether a device computes what the processor computes: every op and its gradient, training, generation.

export interface OpCheck {
  readonly op: string;
  /** How many cases agree: examples of the op, in ordinary sizes and sizes of 1, known and left open. */
  readonly agree: number;
  readonly cases: number;
  /** The largest difference, relative to the largest number. */
  readonly gap: number;
  /** Why the device does not have it, or some of its types; these cases are not counted. */
  readonly refused?: string;
  /** The first that went wrong. */
  readonly wrong?: string;
}

export interface TrainingCheck {
  readonly model: string;
  readonly agrees: boolean;
  readonly steps: number;
  readonly firstLoss: number;
  readonly lastLoss: number;
  /** Of losses, the largest difference over all steps, relative to the loss or to 0.1; of weights, after the last. */
  readonly lossGap: number;
  readonly weightGap: number;
  readonly msPerStep: number;
  readonly cpuMsPerStep: number;
  readonly wrong?: string;
}

export interface GenerationCheck {
  readonly model: string;
  readonly agrees: boolean;
  readonly tokens: number;
  /** Of the scores of all tokens that may come next. */
  readonly scoreGap: number;
  readonly tokensPerSecond: number;
  readonly cpuTokensPerSecond: number;
  readonly wrong?: string;
}

export interface DeviceCheck {
  readonly device: string;
  readonly agrees: boolean;
  readonly ops: readonly OpCheck[];
  readonly training: readonly TrainingCheck[];
  readonly generation: readonly GenerationCheck[];
  readonly seconds: number;
}

/** What has been done so far, for whoever waits. */
export type CheckEvent = OpCheck | TrainingCheck | GenerationCheck;

export interface CheckOptions {
  readonly steps?: number;
  readonly threads?: number;
  readonly listen?: (event: CheckEvent) => void;
  /** Seconds. */
  readonly clock?: () => number;
}

/** Float32 on another device: products add up in another order, and functions have other last bits. */
const tolerances = { op: 1e-3, loss: 1e-3, weight: 2e-2, score: 1e-3 };

/** Runs everything on the device and on the processor, and compares. */
export async function checkDevice(device: Device, options: CheckOptions = {}): Promise<DeviceCheck> {
  const { steps = 50, threads = 1, listen = () => {}, clock = () => performance.now() / 1000 } = options;
  const begin = clock();
  const pair: Pair = { device: { ...device, threads }, cpu: deviceNamed("cpu", { threads }), clock };
  const told = <Event extends CheckEvent>(event: Event): Event => {
    listen(event);
    return event;
  };
  const ops: OpCheck[] = [];
  for (const op of allOps.values()) if (!leaves.includes(op.name)) ops.push(told(await checkOp(op, pair)));
  const training: TrainingCheck[] = [];
  const generation: GenerationCheck[] = [];
  for (const given of models) {
    const config = modelConfig(given);
    const trained = await checkTraining(config, steps, pair);
    training.push(told(trained.check));
    if (config.model !== "encoder") generation.push(told(await checkGeneration(config, trained.weights, pair)));
  }
  const agrees = ops.every(({ wrong }) => wrong === undefined) && [...training, ...generation].every((one) => one.agrees);
  return { device: device.engine.name, agrees, ops, training, generation, seconds: clock() - begin };
}

interface Pair {
  readonly device: Device;
  readonly cpu: Device;
  readonly clock: () => number;
}

type AnyExample = Example<never>;
/** Fed from outside, nothing to compute. */
const leaves = ["input", "parameter", "constant"];

async function checkOp(op: Op, pair: Pair): Promise<OpCheck> {
  let [cases, agree, gap] = [0, 0, 0];
  let [refused, wrong]: (string | undefined)[] = [];
  for (const [index, example] of (op.examples("float32") as readonly AnyExample[]).entries()) {
    for (const { name, sizes } of sizeVariants(example).slice(0, 2)) {
      for (const symbols of ["bound", "open"] as const) {
        try {
          const found = await gapOf(op, index, sizes, symbols, pair);
          cases++;
          gap = Math.max(gap, found);
          if (found <= tolerances.op) agree++;
          else wrong ??= `${op.name} with ${name}, ${symbols}: ${found.toExponential(1)} off`;
        } catch (error) {
          if (!disagrees(error)) throw error;
          if (refuses(error)) refused ??= error.message;
          else {
            cases++;
            wrong ??= `${op.name} with ${name}, ${symbols}: ${error.message}`;
          }
        }
        await pause();
      }
    }
  }
  return { op: op.name, cases, agree, gap, ...(refused !== undefined && { refused }), ...(wrong !== undefined && { wrong }) };
}

/** The largest difference between what the two compute of an example. */
async function gapOf(op: Op, index: number, sizes: Record<string, number>, symbols: "bound" | "open", { device, cpu }: Pair) {
  const example = () => (op.examples("float32") as readonly AnyExample[])[index]; // made anew, its sizes are those that a graph is built for
  const ready = bound(example(), sizes);
  const inputs = samples(example(), sizes);
  const { fn, probes } = withGradients(op, symbols === "open" ? example : () => ready, ready, inputs);
  const feeds = { ...Object.fromEntries(inputs.map((x, i) => [`x${i}`, x])), ...probes };
  const [a, b] = [await computed(fn, feeds, cpu, symbols), await computed(fn, feeds, device, symbols)];
  return Math.max(...Object.keys(a).map((key) => gradientGap(numbersOf(a[key]), numbersOf(b[key]))));
}

/** A device that is not there at all disagrees with nobody. */
const disagrees = (error: unknown): error is EngineError => error instanceof EngineError && error.code !== "engine.device";

/** Said before anything was computed, with what is missing: the lowering's own, or what it found that the device would leave to another. */
const refuses = ({ code, message }: EngineError): boolean => code === "engine.elsewhere" || /which .* has not|has no /.test(message);

async function computed(fn: TensorFunction, feeds: Record<string, HostArray>, device: Device, symbols: "bound" | "open") {
  const run = compile(fn, { device, symbols });
  try {
    return (await run.run(feeds)) as Record<string, HostArray>;
  } finally {
    await run.release();
  }
}

const numbersOf = ({ data }: HostArray): number[] => Array.from(data as Iterable<number | bigint>, Number);

/** The op's outputs and, where it has a gradient, those of Σ output · fixed numbers with respect to every input. */
function withGradients(op: Op, given: () => AnyExample, ready: AnyExample, inputs: readonly HostArray[]) {
  const example = given();
  const typesOf = ({ inputs: own, attributes }: AnyExample): readonly TensorType[] => {
    const types = op.type(
      own.map(({ type }) => type),
      attributes,
    );
    return "dtype" in types ? [types] : types;
  };
  const types = Object.fromEntries(example.inputs.map(({ type }, i): [string, TensorType] => [`x${i}`, type]));
  const differentiates = op.vjp !== undefined && inputs.some((x) => isFloat(x.dtype));
  const outputs = typesOf(example);
  const shown = outputs.slice(0, outputs.length - (op.saved ?? 0)).flatMap((type, i) => (isFloat(type.dtype) ? [[i, type] as const] : []));
  const probed = differentiates ? shown : [];
  const shapes = typesOf(ready);
  const probes = Object.fromEntries(probed.map(([i]) => [`r${i}`, random(concrete(shapes[i], {}), 77 + i, shapes[i].dtype as FloatType)]));
  const probeTypes = Object.fromEntries(probed.map(([i, type]): [string, TensorType] => [`r${i}`, type]));
  const fn = tensorFunction({ ...types, ...probeTypes }, (_, tensors): Record<string, Tensor> => {
    const own = Object.keys(types).map((key) => tensors[key]);
    const results = op.apply(own, given().attributes);
    const named = Object.fromEntries(results.map((y, i): [string, Tensor] => [`y${i}`, y]));
    if (probed.length === 0) return named;
    const loss = probed.map(([i]) => sum(mul(results[i], tensors[`r${i}`]))).reduce((a, b) => add(a, b));
    const floats = own.filter((x) => isFloat(x.dtype));
    return { ...named, ...Object.fromEntries(grad(loss, floats).map((d, i): [string, Tensor] => [`d${i}`, d])) };
  });
  return { fn, probes };
}

const shared = { layers: 1, width: 32, context: 32, vocab: 17, dropout: 0.1 };
/** One of each architecture, with as many kinds of layers as go together. */
const models: readonly ModelInput[] = [
  { model: "decoder", ...shared, heads: 4, hidden: 64, activation: "gelu", positions: "rotary" },
  { model: "encoder", ...shared, heads: 4, hidden: 64, activation: "relu", positions: "sinusoidal", labels: 3 },
  { model: "encoder-decoder", ...shared, heads: 4, hidden: 64, activation: "swiglu", norm: "rms", positions: "relative" },
  { model: "rnn", ...shared, cell: "gru" },
] as readonly ModelInput[];

/** Four batches of ids that come again and again: something to learn by heart. */
function batchesFor({ inputs }: TensorFunction, { vocab, model }: ModelConfig): Batches {
  const sizes = { batch: 4, time: 12, sourceTime: 9 };
  return {
    perEpoch: 4,
    batch(index) {
      const source = chance(9).fork(index % 4);
      const feeds = Object.fromEntries(
        Object.entries(inputs).map(([name, { shape }]) => {
          const dims = shape.map((dim) => dim.bind(sizes).known);
          const most = name === "targets" && model === "encoder" ? 3 : vocab;
          const draw = source.fork(name);
          const long = "sourceTime" in inputs ? sizes.sourceTime : Math.min(sizes.sourceTime, sizes.time);
          const data = Int32Array.from({ length: elementCount(dims) }, (_, i) =>
            name === "lengths" ? long - (i % 3) : draw.integer(i, most),
          );
          return [name, array("int32", data, dims)];
        }),
      );
      return { feeds, targets: sizes.batch, tokens: sizes.batch * sizes.time, places: sizes.batch * sizes.time };
    },
  };
}

async function checkTraining(config: ModelConfig, steps: number, { device, cpu, clock }: Pair) {
  const loss = modelLoss(config);
  const layout = parametersOf(loss);
  const batches = batchesFor(loss, config);
  const train = async (on: Device) => {
    const optimizer = new AdamW(layout, { clip: 1, weightDecay: 0.1 });
    initialise(layout, chance(5), optimizer.weights);
    const losses: number[] = [];
    let best = Number.POSITIVE_INFINITY;
    const settings = { steps, learningRate: () => 3e-3, chance: chance(3), device: on, resident: true, clock };
    for await (const report of fit(loss, optimizer, batches, settings)) {
      if (report.kind !== "step") continue;
      losses.push(report.loss);
      best = Math.min(best, report.seconds);
      await pause();
    }
    return { losses, weights: optimizer.weights, ms: 1000 * best };
  };
  const expected = await train(cpu);
  const about = { model: config.model, steps, cpuMsPerStep: expected.ms };
  try {
    const found = await train(device);
    const lossGap = Math.max(
      ...found.losses.map((value, i) => Math.abs(value - expected.losses[i]) / Math.max(0.1, Math.abs(expected.losses[i]))),
    );
    const weightGap = gradientGap(expected.weights.data, found.weights.data);
    const agrees = lossGap <= tolerances.loss && weightGap <= tolerances.weight;
    const ends = { firstLoss: found.losses[0], lastLoss: found.losses[found.losses.length - 1] };
    return { check: { ...about, ...ends, agrees, lossGap, weightGap, msPerStep: found.ms }, weights: expected.weights };
  } catch (error) {
    if (!disagrees(error)) throw error;
    const nothing = { firstLoss: Number.NaN, lastLoss: Number.NaN, lossGap: Number.NaN, weightGap: Number.NaN, msPerStep: Number.NaN };
    return { check: { ...about, ...nothing, agrees: false, wrong: error.message }, weights: expected.weights };
  }
}

const written = 16;

/** The likeliest tokens one after the other: the same, and with the same scores. */
async function checkGeneration(config: ModelConfig, weights: ParameterBuffer, { device, cpu, clock }: Pair): Promise<GenerationCheck> {
  const source = Int32Array.of(3, 1, 4, 1, 5);
  const write = async (on: Device) => {
    const speaker = speakerOf(config, baked(weightsInMemory(weights), on));
    try {
      const speech = speaker.begin();
      const reads = config.model === "encoder-decoder" || (config.model === "rnn" && config.task === "translate");
      let next = await speech.join([
        { ids: Int32Array.of(1, 2, 3), ...(reads && { source }) },
        { ids: Int32Array.of(7, 5), ...(reads && { source }) },
      ]);
      const ids: number[] = [];
      const scores: number[] = [];
      let best = Number.POSITIVE_INFINITY;
      for (let i = 0; i < written; i++) {
        const chosen = next.map((one) => one.scores.indexOf(Math.max(...one.scores)));
        ids.push(...chosen);
        scores.push(...next.flatMap((one) => [...one.scores]));
        const begin = clock();
        next = await speech.next(chosen);
        best = Math.min(best, clock() - begin);
      }
      return { ids, scores, tokensPerSecond: 2 / best };
    } finally {
      await speaker.release();
    }
  };
  const expected = await write(cpu);
  const about = { model: config.model, tokens: 2 * written, cpuTokensPerSecond: expected.tokensPerSecond };
  try {
    const found = await write(device);
    const scoreGap = gradientGap(expected.scores, found.scores);
    const agrees = scoreGap <= tolerances.score && expected.ids.every((id, i) => id === found.ids[i]);
    return { ...about, agrees, scoreGap, tokensPerSecond: found.tokensPerSecond };
  } catch (error) {
    if (!disagrees(error)) throw error;
    return { ...about, agrees: false, scoreGap: Number.NaN, tokensPerSecond: Number.NaN, wrong: error.message };
  }
}
