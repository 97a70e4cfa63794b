import type { HostArray } from "../base/arrays.ts";
import type { Batches } from "../batches/batch.ts";
import { type CostOptions, cost as costOn, type ModelCost } from "../cost/cost.ts";
import { countedScaling as countedScalingOn, type Scaling } from "../cost/scaling.ts";
import { speakerOf as speakerOn } from "../generation/speaker.ts";
import type { Speaker } from "../generation/speech.ts";
import type { TensorFunction } from "../graph/graph.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import type { Scope } from "../graph/scope.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { ModelConfig } from "../models/any.ts";
import { nodeDevice } from "../node/device.ts";
import { type DeviceChoice, deviceOf } from "../node/devices.ts";
import type { Device } from "../runtime/device.ts";
import { baked } from "../trained/baked.ts";
import { checkGradient as checkGradientOn, type GradientCheckOptions } from "../training/check-gradient.ts";
import { type FitOptions, fit as fitOn, type Progress, type Report } from "../training/fit.ts";
import type { Optimizer } from "../training/optimizer.ts";
import { weightsInMemory } from "../weights/weights.ts";

// What computes: the processor, unless another device is given, or the name of one. Inside, a device is always an argument.

type Here<Options extends { readonly device: Device }> = Omit<Options, "device"> & { readonly device?: Device | DeviceChoice };

/** Trains, and yields what happens; see `FitOptions`. */
export const fit = (
  loss: TensorFunction,
  optimizer: Optimizer,
  batches: Batches,
  options: Here<FitOptions>,
): AsyncGenerator<Report, Progress> => fitOn(loss, optimizer, batches, { ...options, device: deviceOf(options.device) });

/** Compares gradients with finite differences: gives the largest difference, or throws what is wrong; see `GradientCheckOptions`. */
export const checkGradient = <Name extends string>(
  build: (p: Scope, inputs: { readonly [K in Name]: Tensor }) => Tensor,
  inputs: { readonly [K in Name]: HostArray },
  options: Here<GradientCheckOptions> = {},
): Promise<number> => checkGradientOn(build, inputs, { ...options, device: deviceOf(options.device) });

/** The exact cost of a model, read off the graphs that run. */
export const cost = (config: ModelConfig, options: Here<CostOptions> = {}): Promise<ModelCost> =>
  costOn(config, { ...options, device: deviceOf(options.device) });

export const countedScaling = (device?: Device | DeviceChoice): Promise<Scaling[]> => countedScalingOn(deviceOf(device));

export interface SpeakerOptions {
  readonly weights: ParameterBuffer;
  readonly device?: Device | DeviceChoice;
  /** Threads of this process, where no device is given. */
  readonly threads?: number;
}

/** What a model says may come next, with these weights baked in. `await using` releases it at the end of a block. */
export function speakerOf(
  model: ModelConfig,
  { weights, threads, device = nodeDevice({ threads }) }: SpeakerOptions,
): Speaker & AsyncDisposable {
  const speaker = speakerOn(model, baked(weightsInMemory(weights), typeof device === "string" ? deviceOf(device, { threads }) : device));
  return Object.assign(speaker, { [Symbol.asyncDispose]: () => speaker.release() });
}
