import { type Command, Option } from "commander";
import { ConfigError } from "../base/errors.ts";
import { type CostMeasure, measureCost } from "../bench/measured-cost.ts";
import { cost, type ModelCost } from "../cost/cost.ts";
import { type Host, rankMemory, rankTimes, usualHost, type Way, type Work } from "../cost/ranks.ts";
import type { NoiseKind } from "../graph/scope.ts";
import { type ModelConfig, modelLoss } from "../models/any.ts";
import { adapted, adapterLayout } from "../models/lora.ts";
import { nodeDevice } from "../node/device.ts";
import { freeMemory } from "../node/machine.ts";
import type { TrainingConfig } from "../runs/config.ts";
import { refuseTooBig } from "../runs/memory.ts";
import { parametersOf } from "../runtime/compile.ts";
import { keepsOf } from "../runtime/pipeline.ts";
import { type Compression, compressions } from "../training/carrier.ts";
import { numbersInMatrices } from "../training/muon.ts";
import { remembered } from "../training/optimizers.ts";
import { trainedLayout } from "../weights/freeze.ts";
import { typedFlags } from "./flags.ts";
import { aboveZero, listOf, positive, wholeNumber } from "./values.ts";

// What `qkv cost --ranks` foretells: training on many hosts, from the graph's own count of FLOPs and the speed of hosts and network.

const usualNetworks = [1, 10, 100];
const usualTflops = 0.2;
const usualLatency = 50;

const ranksFlag = new Option("--ranks <n,…>", "what training on so many hosts is expected to take, one rank on each: 2,4,8").argParser(
  listOf(wholeNumber),
);

const settingFlags: readonly Option[] = [
  new Option("--network <Gbit/s,…>", `with --ranks: of each host, in one direction (default ${usualNetworks})`).argParser(
    listOf(aboveZero),
  ),
  new Option("--latency <µs>", `with --ranks: of a message between two hosts (default ${usualLatency})`).argParser(positive),
  new Option(
    "--host-tflops <n>",
    `with --ranks: what a host computes, in TFLOP/s (default ${usualTflops}, two cores; --measure asks this machine)`,
  ).argParser(aboveZero),
  new Option("--accumulate <n>", "with --ranks: batches whose gradients are added up for one step (default 1, or the run's)").argParser(
    wholeNumber,
  ),
  new Option("--shard-optimizer", "with --ranks: each rank keeps the optimizer's state of its part alone"),
  new Option("--compress <how>", "with --ranks: how gradients travel (default none)").choices(compressions),
];

export const rankCostFlags: readonly Option[] = [ranksFlag, ...settingFlags];

export interface RankOptions {
  readonly ranks?: readonly number[];
  readonly network?: readonly number[];
  readonly latency?: number;
  readonly hostTflops?: number;
  readonly accumulate?: number;
  readonly shardOptimizer?: boolean;
  readonly compress?: Compression;
}

export const rankForm = `
With --ranks and --json: {"model","parameters","trained","batch","length","sourceLength"?,"accumulate","tokens","flops","way":{"compress",
"shardOptimizer"},"host":{"flopsPerSecond","from","handling","updating"},"latency","aloneSeconds","networks":[{"gbits","ranks":[{"ranks","rows",
"computing","exchanging","updating","seconds","tokensPerSecond","efficiency","efficiencyIfHidden","tokensForHalf","tokensForNineTenths",
"trainingSeconds"?}]}],"memory":[{"ranks","weights","gradients","sums","activations","optimizer":{"whole","sharded"},"total":{"whole",
"sharded"}}],"measured"?}. Times are seconds of a step, memory is bytes of a rank; trainingSeconds is there where --tokens is given.`;

/** Refuses what has no meaning without the others. */
export function checkRankFlags(options: RankOptions, command: Command, without: readonly Option[]): void {
  const [lone] = options.ranks ? [] : typedFlags(command, settingFlags);
  if (lone !== undefined) throw new ConfigError(`${lone} is for training on many hosts; give --ranks too`);
  const [other] = options.ranks ? typedFlags(command, without) : [];
  if (other !== undefined) throw new ConfigError(`--ranks foretells training on many hosts, so ${other} has no meaning beside it`);
  if (options.hostTflops !== undefined && command.getOptionValueSource("measure") === "cli")
    throw new ConfigError("--host-tflops says what a host computes, and --measure asks this machine; give one of them");
}

export interface Asked extends RankOptions {
  readonly ranks: readonly number[];
  readonly config: ModelConfig;
  readonly training: TrainingConfig;
  /** What a run drops by; left out where there is none yet. */
  readonly noise?: NoiseKind;
  readonly batch: number;
  readonly length?: number;
  readonly sourceLength?: number;
  /** Of the whole training, if it is to be foretold. */
  readonly tokens?: number;
  /** The threads to measure with; nothing is measured if left out. */
  readonly threads?: number;
}

export type RankFacts = Awaited<ReturnType<typeof rankFacts>>;

export async function rankFacts(asked: Asked) {
  const { ranks, config, batch, network = usualNetworks, compress = "none", shardOptimizer = false } = asked;
  const training = shardOptimizer ? dividable(asked.training) : asked.training;
  const { accumulate = training.accumulate, latency = usualLatency, tokens: all } = asked;
  const device = nodeDevice();
  const counted = await cost(config, {
    ...extent(asked),
    batch,
    phases: ["training"],
    keeps: keepsOf(training),
    noise: asked.noise,
    device,
  }); // any optimizer: its part is taken off
  const measured = asked.threads === undefined ? undefined : await measuredShare(asked, asked.threads);
  const work = workOf(counted, training, accumulate);
  const way: Way = { compress, shardOptimizer };
  const flopsPerSecond = measured?.phases.training?.flopsPerSecond ?? 1e12 * (asked.hostTflops ?? usualTflops);
  const host: Host = { ...usualHost, flopsPerSecond };
  const tokens = batch * accumulate * work.tokens;
  const timesAt = (count: number, gbits: number) => {
    const times = rankTimes(count, work, host, { bytesPerSecond: (gbits * 1e9) / 8, latency: latency / 1e6 }, way);
    return { ...times, ...(all !== undefined && { trainingSeconds: all / times.tokensPerSecond }) };
  };
  return {
    model: config,
    parameters: work.parameters,
    trained: work.trained,
    batch,
    length: counted.length,
    ...(counted.sourceLength !== undefined && { sourceLength: counted.sourceLength }),
    accumulate,
    tokens,
    flops: batch * accumulate * work.flops,
    way,
    host: { ...host, from: speedFrom(measured, asked) },
    latency: latency / 1e6,
    aloneSeconds: timesAt(1, 1).seconds,
    networks: network.map((gbits) => ({ gbits, ranks: ranks.map((count) => timesAt(count, gbits)) })),
    memory: ranks.map((count) => rankMemory(count, work)),
    ...(measured && { measured }),
  };
}

/** Muon moves whole matrices, and a mean is of all weights: what is divided among ranks is AdamW, without one. */
const dividable = (training: TrainingConfig): TrainingConfig => ({
  ...training,
  average: 0,
  optimizer: training.optimizer === "muon" ? "adamw" : training.optimizer,
});

/** Where the speed of a host comes from. */
const speedFrom = (measured: CostMeasure | undefined, { hostTflops }: Asked): "measured" | "given" | "assumed" =>
  measured ? "measured" : hostTflops === undefined ? "assumed" : "given";

const extent = ({ length, sourceLength }: Asked) => ({
  ...(length !== undefined && { length }),
  ...(sourceLength !== undefined && { sourceLength }),
});

function workOf(
  { model, parameters, batch, length, sourceLength = 0, phases: { training } }: ModelCost,
  config: TrainingConfig,
  accumulate: number,
): Work {
  const { flops = 0, activationBytes = 0, parts = [] } = training ?? {};
  const optimizer = parts.find(({ name }) => name === "optimizer")?.flops ?? 0;
  const loss = modelLoss(model);
  const adapter = config.lora && adapterLayout(adapted(loss, config.lora));
  const layout = adapter ?? trainedLayout(parametersOf(loss), config.freeze);
  const [trained, matrices] = [layout.total, numbersInMatrices(layout)];
  const numbersOf = ({ optimizer, average }: TrainingConfig) => remembered(optimizer, { trained, matrices, average }) / trained;
  return {
    parameters: parameters + (adapter?.total ?? 0),
    trained,
    batch,
    accumulate,
    tokens: length + sourceLength,
    flops: (flops - optimizer) / batch,
    remembered: numbersOf(config),
    dividable: numbersOf(dividable(config)),
    activationBytes,
  };
}

/** What this machine computes of a training step, with as many rows as each of the most ranks would have. */
function measuredShare(asked: Asked, threads: number): Promise<CostMeasure> {
  const { config, training, ranks } = asked;
  const batch = Math.ceil(asked.batch / Math.max(...ranks));
  refuseTooBig(parametersOf(modelLoss(config)).total, config, { ...training, batch }, freeMemory());
  console.error("measuring; a quiet machine gives the best figures …");
  return cost(config, { ...extent(asked), batch, phases: ["training"], device: nodeDevice() }).then((share) => measureCost(share, threads));
}
