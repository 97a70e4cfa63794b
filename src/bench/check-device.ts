import type { HostArray } from "../base/arrays.ts";
import { EngineError } from "../base/errors.ts";
import { pause } from "../base/turns.ts";
import { gradientGap } from "../gradients/finite-difference.ts";
import type { Op } from "../graph/op.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import type { ModelConfig } from "../models/any.ts";
import { deviceNamed } from "../node/devices.ts";
import type { Device } from "../runtime/device.ts";
import { computingOps, opCases } from "./op-cases.ts";
import { smallModels, trainSmall, writeSmall, writes, written } from "./small-models.ts";

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
  for (const op of computingOps()) ops.push(told(await checkOp(op, pair)));
  const training: TrainingCheck[] = [];
  const generation: GenerationCheck[] = [];
  for (const config of smallModels) {
    const trained = await checkTraining(config, steps, pair);
    training.push(told(trained.check));
    if (writes(config)) generation.push(told(await checkGeneration(config, trained.weights, pair)));
  }
  const agrees = ops.every(({ wrong }) => wrong === undefined) && [...training, ...generation].every((one) => one.agrees);
  return { device: device.engine.name, agrees, ops, training, generation, seconds: clock() - begin };
}

interface Pair {
  readonly device: Device;
  readonly cpu: Device;
  readonly clock: () => number;
}

async function checkOp(op: Op, { device, cpu }: Pair): Promise<OpCheck> {
  let [cases, agree, gap] = [0, 0, 0];
  let [refused, wrong]: (string | undefined)[] = [];
  for (const { name, compute } of opCases(op)) {
    try {
      const [a, b] = [await compute(cpu), await compute(device)];
      const found = Math.max(...Object.keys(a).map((key) => gradientGap(numbersOf(a[key]), numbersOf(b[key]))));
      cases++;
      gap = Math.max(gap, found);
      if (found <= tolerances.op) agree++;
      else wrong ??= `${name}: ${found.toExponential(1)} off`;
    } catch (error) {
      if (!disagrees(error)) throw error;
      if (refuses(error)) refused ??= error.message;
      else {
        cases++;
        wrong ??= `${name}: ${error.message}`;
      }
    }
    await pause();
  }
  return { op: op.name, cases, agree, gap, ...(refused !== undefined && { refused }), ...(wrong !== undefined && { wrong }) };
}

/** A device that is not there at all disagrees with nobody. */
const disagrees = (error: unknown): error is EngineError => error instanceof EngineError && error.code !== "engine.device";

/** Said before anything was computed, with what is missing: the lowering's own, or what it found that the device would leave to another. */
const refuses = ({ code, message }: EngineError): boolean => code === "engine.elsewhere" || /which .* has not|has no /.test(message);

const numbersOf = ({ data }: HostArray): number[] => Array.from(data as Iterable<number | bigint>, Number);

async function checkTraining(config: ModelConfig, steps: number, { device, cpu, clock }: Pair) {
  const expected = await trainSmall(config, cpu, { steps, clock });
  const about = { model: config.model, steps, cpuMsPerStep: expected.ms };
  try {
    const found = await trainSmall(config, device, { steps, clock });
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

/** The likeliest tokens one after the other: the same, and with the same scores. */
async function checkGeneration(config: ModelConfig, weights: ParameterBuffer, { device, cpu, clock }: Pair): Promise<GenerationCheck> {
  const expected = await writeSmall(config, weights, cpu, clock);
  const about = { model: config.model, tokens: 2 * written, cpuTokensPerSecond: expected.tokensPerSecond };
  try {
    const found = await writeSmall(config, weights, device, clock);
    const scoreGap = gradientGap(expected.scores, found.scores);
    const agrees = scoreGap <= tolerances.score && expected.ids.every((id, i) => id === found.ids[i]);
    return { ...about, agrees, scoreGap, tokensPerSecond: found.tokensPerSecond };
  } catch (error) {
    if (!disagrees(error)) throw error;
    return { ...about, agrees: false, scoreGap: Number.NaN, tokensPerSecond: Number.NaN, wrong: error.message };
  }
}
