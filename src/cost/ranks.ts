import type { Compression } from "../training/carrier.ts";
import { mostOnTheWay } from "../training/group.ts";

// What training on many hosts is expected to take, with one rank on each. All compute rows of the same batch; then every rank sends each other
// one the part of the gradients that it adds up, and gets the parts that others have added up: as many bytes as a ring all-reduce. That
// half of it may happen while the rest is computed is left out: whether it pays is measured when a run begins.

export interface Work {
  /** Of the whole model; and those of them that are trained, and so travel. */
  readonly parameters: number;
  readonly trained: number;
  /** Sequences of a batch, and how many batches are accumulated for a step. */
  readonly batch: number;
  readonly accumulate: number;
  /** Tokens and FLOPs of a sequence, forward and backward. */
  readonly tokens: number;
  readonly flops: number;
  /** Numbers that the optimizer remembers of a parameter that is trained: 2 for AdamW. */
  readonly remembered: number;
  /** The same of one that can be divided among ranks. */
  readonly dividable: number;
  /** Bytes of activations for a whole batch. */
  readonly activationBytes: number;
}

/** A computer. What one thread of it does takes seconds for each parameter. */
export interface Host {
  readonly flopsPerSecond: number;
  /** To copy and add up what is exchanged. */
  readonly handling: Readonly<Record<Compression, number>>;
  /** A step of the optimizer. */
  readonly updating: number;
}

export interface Network {
  readonly bytesPerSecond: number;
  /** Seconds that a message takes, however short. */
  readonly latency: number;
}

export interface Way {
  readonly compress: Compression;
  readonly shardOptimizer: boolean;
}

/**
 * As measured between two ranks on two cores of an AMD EPYC: to carry a parameter in memory and add it up takes 2 ns, or 3 where it is rounded and widened again. A step of
 * AdamW takes 1.6.
 */
export const usualHost: Omit<Host, "flopsPerSecond"> = { handling: { none: 2e-9, bf16: 3e-9 }, updating: 1.6e-9 };

export interface RankTimes {
  readonly ranks: number;
  /** Sequences of a step that the busiest rank computes; a rank without any still waits for the others. */
  readonly rows: number;
  /** Seconds of a step. */
  readonly computing: number;
  readonly exchanging: number;
  readonly updating: number;
  readonly seconds: number;
  readonly tokensPerSecond: number;
  /** The time that one host would take, divided by that of all hosts together. */
  readonly efficiency: number;
  /** The same, if exchanging cost nothing as long as a rank computes: a bound. */
  readonly efficiencyIfHidden: number;
  /** Tokens of a step, all ranks together, from which on the efficiency is a half, and nine tenths. */
  readonly tokensForHalf: number;
  readonly tokensForNineTenths: number;
}

export interface RankMemory {
  readonly ranks: number;
  /** Bytes. */
  readonly weights: number;
  readonly gradients: number;
  /** Where gradients of several batches are added up; 0 without accumulation. */
  readonly sums: number;
  readonly activations: number;
  /** What the optimizer remembers, and all of it together: whole on each rank, and each rank a part. */
  readonly optimizer: { readonly whole: number; readonly sharded: number };
  readonly total: { readonly whole: number; readonly sharded: number };
}

const packed: Readonly<Record<Compression, number>> = { none: 4, bf16: 2 };

/** Bytes that an exchange takes for each parameter, there and back. Weights that were moved by another rank are never rounded. */
export const exchangedBytes = ({ compress, shardOptimizer }: Way): number => packed[compress] + (shardOptimizer ? 4 : packed[compress]);

/** Seconds in which what is exchanged for one step is on the network: (N − 1)/N of all parameters there, and as many back. */
export function wireSeconds(ranks: number, trained: number, { bytesPerSecond, latency }: Network, way: Way): number {
  const bytes = ((ranks - 1) / ranks) * trained * exchangedBytes(way);
  const rounds = 2 * Math.ceil(trained / mostOnTheWay) + (way.shardOptimizer ? 2 : 1); // of losses, and of norms where each has its own
  return bytes / bytesPerSecond + rounds * (ranks - 1) * latency;
}

/** A step on so many hosts. */
export function rankTimes(ranks: number, work: Work, host: Host, network: Network, way: Way): RankTimes {
  const { trained, batch, accumulate, tokens, flops } = work;
  const sequences = batch * accumulate;
  const each = flops / host.flopsPerSecond; // seconds of a sequence
  const rows = Math.ceil(sequences / ranks);
  const computing = rows * each;
  const exchanging = ranks === 1 ? 0 : wireSeconds(ranks, trained, network, way) + trained * host.handling[way.compress];
  const alone = trained * host.updating;
  const updating = way.shardOptimizer ? alone / ranks : alone;
  const seconds = computing + exchanging + updating;
  const efficiencyOf = (time: number) => (sequences * each + alone) / (ranks * time);
  // share · ranks · (t · each / ranks + exchanging + updating) = t · each + alone, for t sequences that all ranks have as many of
  const tokensFor = (share: number) => {
    const needed = (share * ranks * (exchanging + updating) - alone) / (each * (1 - share));
    return Math.ceil(tokens * Math.max(ranks, needed));
  };
  return {
    ranks,
    rows,
    computing,
    exchanging,
    updating,
    seconds,
    tokensPerSecond: (sequences * tokens) / seconds,
    efficiency: efficiencyOf(seconds),
    efficiencyIfHidden: efficiencyOf(Math.max(computing, exchanging) + updating),
    tokensForHalf: tokensFor(0.5),
    tokensForNineTenths: tokensFor(0.9),
  };
}

/** What one of so many ranks holds. */
export function rankMemory(ranks: number, work: Work): RankMemory {
  const { parameters, trained, batch, accumulate, remembered, dividable, activationBytes } = work;
  const [weights, gradients, sums] = [4 * parameters, 4 * trained, accumulate > 1 ? 4 * trained : 0];
  const activations = (activationBytes * Math.ceil(batch / ranks)) / batch;
  const optimizer = { whole: 4 * remembered * trained, sharded: (4 * dividable * trained) / ranks };
  const rest = weights + gradients + sums + activations;
  return {
    ranks,
    weights,
    gradients,
    sums,
    activations,
    optimizer,
    total: { whole: rest + optimizer.whole, sharded: rest + optimizer.sharded },
  };
}
