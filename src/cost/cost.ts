import { isFloat } from "../base/arrays.ts";
import { type Graph, graphNodes } from "../graph/graph.ts";
import { isLeaf } from "../graph/leaves.ts";
import type { ParameterLayout } from "../graph/parameters.ts";
import { type Part, partNames } from "../graph/place.ts";
import type { NoiseKind } from "../graph/scope.ts";
import { byteSize } from "../graph/type.ts";
import { type ModelConfig, modelLoss, readsSource } from "../models/any.ts";
import { isAttend } from "../ops/attend.ts";
import { parametersOf } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import type { Keeps } from "../runtime/pipeline.ts";
import { numbersInMatrices } from "../training/muon.ts";
import type { OptimizerName } from "../training/optimizers.ts";
import { activationMemory } from "./memory.ts";
import { type Amount, bound, layerOf, type NodeCost, nodeCosts, nothing, plus, type Sizes } from "./nodes.ts";
import { optimizerCosts } from "./optimizer.ts";
import { checkExtent, type Extent, type Phase, type PhaseName, phaseGraph, phaseNames, phaseOf } from "./phases.ts";

// The exact cost of a model, read off the graphs that run. A product of matrices is 2mnk; an exponential, a root or a sine is one
// operation; a sum that runs as a product with ones, or with one-hot rows, counts as the additions that it stands for. Bytes are what
// the kernels read and write, pass by pass, as if nothing stayed in a cache.

export interface CostOptions {
  readonly batch?: number;
  /** Tokens of a sequence (of the target, where there is a source); the model's context if left out. */
  readonly length?: number;
  readonly sourceLength?: number;
  /** Tokens that a decoded token sees, itself included; the length if left out. */
  readonly decode?: number;
  readonly phases?: readonly PhaseName[];
  /** What a training step keeps for its way back; everything if left out. */
  readonly keeps?: Keeps;
  /** What dropout is fed; flags, as in new runs, if left out. */
  readonly noise?: NoiseKind;
  /** What moves the weights in a training step; AdamW if left out. */
  readonly optimizer?: OptimizerName;
  /** What folds constants; nothing else is computed. */
  readonly device: Device;
  /** Aborted, it leaves off before the next phase, and throws the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface Named<Name extends string = string> extends Amount {
  readonly name: Name;
}

export interface PartCost extends Named<Part> {
  readonly parameters: number;
}

export interface LayerCost extends Named {
  readonly parameters: number;
}

export interface OperationCost extends Named {
  readonly count: number;
}

export interface PhaseCost extends Amount {
  readonly sizes: Sizes;
  /** FLOPs for each byte. */
  readonly intensity: number;
  /** The most bytes of activations alive at once; and, in training, those that the backward pass reads again. */
  readonly activationBytes: number;
  readonly keptBytes: number;
  /** Blocks of queries that causal attention runs in: each leaves out the keys after it. */
  readonly queryBlocks: number;
  readonly parts: readonly PartCost[];
  readonly operations: readonly OperationCost[];
  readonly layers: readonly LayerCost[];
}

export interface ModelCost extends Omit<Extent, "sourceLength"> {
  readonly model: ModelConfig;
  readonly sourceLength?: number;
  readonly parameters: number;
  /** What moves them in a training step. */
  readonly optimizer: OptimizerName;
  /** How many of these are in matrices that hidden states are multiplied by. */
  readonly matrices: number;
  /** Keys and values (or an RNN's states) that decoding keeps once `decode` tokens are there. */
  readonly kvCacheBytes: number;
  readonly phases: { readonly [Name in PhaseName]?: PhaseCost };
}

const outside = "outside the layers";

export async function cost(config: ModelConfig, options: CostOptions): Promise<ModelCost> {
  const {
    batch = 1,
    length = config.context,
    sourceLength = length,
    decode = length,
    phases = phaseNames,
    optimizer = "adamw",
    device,
  } = options;
  const extent = { batch, length, sourceLength, decode };
  checkExtent(config, extent);
  const layout = parametersOf(modelLoss(config));
  const found: { [Name in PhaseName]?: PhaseCost } = {};
  for (const name of phases) {
    options.signal?.throwIfAborted();
    const phase = phaseOf(name, config, extent, options);
    if (!phase) continue;
    const graph = await phaseGraph(phase, device);
    found[name] = phaseCost(graph, phase.sizes, layout, name === "training" ? await optimizerCosts(optimizer, layout, device) : []);
  }
  const { total: parameters } = layout;
  const matrices = numbersInMatrices(layout);
  const kvCacheBytes = keptBetweenTokens(phaseOf("token", config, extent), decode);
  return {
    model: config,
    batch,
    length,
    ...(readsSource(config) && { sourceLength }),
    decode,
    parameters,
    optimizer,
    matrices,
    kvCacheBytes,
    phases: found,
  };
}

/** All that a step is fed beside token ids and lengths is what was kept. */
function keptBetweenTokens(step: Phase | undefined, past: number): number {
  const kept = Object.values(step?.fn.inputs ?? {}).filter(({ dtype }) => isFloat(dtype));
  return kept.reduce((total, type) => total + bound(byteSize(type), { ...step?.sizes, past }), 0);
}

function phaseCost(graph: Graph, sizes: Sizes, layout: ParameterLayout, steps: readonly NodeCost[]): PhaseCost {
  const nodes = graphNodes(graph).filter((node) => !isLeaf(node));
  const costs = [...nodes.flatMap((node) => nodeCosts(node, sizes)), ...steps];
  const total = costs.reduce(plus, nothing);
  const counts = tally([...nodes.map(({ op }) => [op.name, 1] as const), ...steps.map(({ operation }) => [operation, 1] as const)]);
  const memory = activationMemory(graph, sizes);
  const attends = tally(nodes.filter(isAttend).map(({ scope }) => [scope, 1] as const));
  return {
    ...total,
    sizes,
    intensity: total.flops / total.bytes,
    activationBytes: memory.peakBytes,
    keptBytes: memory.keptBytes,
    queryBlocks: Math.max(1, ...attends.values()),
    parts: partCosts(costs, layout),
    operations: grouped(costs, ({ operation }) => operation).map((one) => ({ ...one, count: counts.get(one.name) ?? 0 })),
    layers: layerCosts(costs, layout),
  };
}

function partCosts(costs: readonly NodeCost[], layout: ParameterLayout): PartCost[] {
  const amounts = new Map(grouped(costs, ({ part }) => part).map((one) => [one.name, one]));
  const parameters = tally(layout.entries.map(({ part, length }) => [part, length] as const));
  const all = partNames.map((name) => ({ ...nothing, ...amounts.get(name), name, parameters: parameters.get(name) ?? 0 }));
  return all.filter((part) => part.flops + part.bytes + part.parameters > 0);
}

function layerCosts(costs: readonly NodeCost[], layout: ParameterLayout): LayerCost[] {
  const parameters = tally(layout.entries.map(({ name, length }) => [layerOf(name) ?? outside, length] as const));
  return grouped(costs, ({ layer }) => layer ?? outside).map((one) => ({ ...one, parameters: parameters.get(one.name) ?? 0 }));
}

function grouped(costs: readonly NodeCost[], key: (cost: NodeCost) => string): Named[] {
  const groups = new Map<string, Amount>();
  for (const one of costs) groups.set(key(one), plus(groups.get(key(one)) ?? nothing, one));
  return [...groups].map(([name, amount]) => ({ name, ...amount }));
}

function tally<Name extends string>(pairs: readonly (readonly [Name, number])[]): Map<Name, number> {
  const sums = new Map<Name, number>();
  for (const [name, value] of pairs) sums.set(name, (sums.get(name) ?? 0) + value);
  return sums;
}
