import { array, type HostArray } from "../base/arrays.ts";
import { type Chance, chance } from "../base/chance.ts";
import { graphCost } from "../graph/cost.ts";
import type { Graph, TensorFunction } from "../graph/graph.ts";
import { decoderLoss } from "../models/decoder.ts";
import { encoderDecoderLoss } from "../models/encoder-decoder.ts";
import { decoderPresets } from "../models/presets.ts";
import { rnnLoss } from "../models/rnn.ts";

/** Something to train, and how often. */
export interface Workload {
  readonly name: string;
  readonly what: string;
  readonly loss: TensorFunction;
  readonly sizes: Readonly<Record<string, number>>;
  /** Sizes that stay open while compiling, as for examples of all lengths; bound if left out. */
  readonly symbols?: "open";
  /** Tokens that one step reads. */
  readonly tokens: number;
  /** Arithmetic of one step, forward and backward. */
  flops(parameters: number, graph: Graph): number;
  feeds(source: Chance): Record<string, HostArray>;
  /** Steps in a row, and how often. */
  readonly burst: number;
  readonly rounds: number;
}

/** A GPT's FLOPs for each token by the usual count: 6 · parameters + 12 · layers · width · time. */
export const usualFlops = (parameters: number, { layers, width }: { layers: number; width: number }, time: number): number =>
  6 * parameters + 12 * layers * width * time;

/** A GPT; its FLOPs by the usual count. */
function gpt(name: string, batch: number, burst: number, rounds: number): Workload {
  const config = decoderPresets[name.toLowerCase()];
  const { layers = 0, width = 0, context = 0 } = config;
  const tokens = batch * context;
  return {
    name,
    what: `a GPT of ${layers} layers, width ${width}, context ${context}, batch ${batch}`,
    loss: decoderLoss(config, { ignore: null }), // windows of one text have no padding
    sizes: { batch, time: context },
    tokens,
    flops: (parameters) => tokens * usualFlops(parameters, { layers, width }, context),
    feeds(source) {
      const starts = Array.from({ length: batch }, (_, row) => source.integer(row, 20_000));
      return { ids: windows(starts, 0, context, vocab), targets: windows(starts, 1, context, vocab) };
    },
    burst,
    rounds,
  };
}

/** Pairs of sequences, the target a shifted source; FLOPs as they are counted in the graph that runs. */
function pairs(name: string, what: string, loss: TensorFunction, { batch, length }: { batch: number; length: number }): Workload {
  return {
    name,
    what: `${what}, source and target ${length}, batch ${batch}`,
    loss,
    sizes: { batch, time: length, sourceTime: length },
    tokens: 2 * batch * length,
    flops: (_, graph) => graphCost(graph).flops.known,
    feeds(source) {
      const starts = Array.from({ length: batch }, (_, row) => source.integer(row, 20_000));
      const window = (shift: number) => windows(starts, shift, length, vocab);
      return { source: window(0), lengths: array("int32", new Int32Array(batch).fill(length)), target: window(1), targets: window(2) };
    },
    burst: 3,
    rounds: 5,
  };
}

/** Windows of a made-up text with some order in it. */
function windows(starts: readonly number[], shift: number, length: number, vocab: number): HostArray {
  const text = (at: number) => (Math.floor((at * at) / 7) + at) % vocab;
  const data = Int32Array.from(starts.flatMap((start) => Array.from({ length }, (_, t) => text(start + shift + t))));
  return array("int32", data, [starts.length, length]);
}

const vocab = 65;

export const workloads: readonly Workload[] = [
  gpt("W1", 12, 10, 25),
  gpt("W2", 8, 3, 8),
  pairs(
    "W3",
    "an encoder–decoder of 3 + 3 layers, width 384",
    encoderDecoderLoss({ layers: 3, heads: 6, width: 384, context: 64, vocab }),
    { batch: 16, length: 64 },
  ),
  pairs(
    "W4",
    "a GRU encoder–decoder with attention, width 256",
    rnnLoss({ cell: "gru", width: 256, vocab, bidirectional: true, recurrence: "scanned" }),
    {
      batch: 32,
      length: 32,
    },
  ),
];

export const batchesOf = ({ feeds }: Workload, count: number): Record<string, HostArray>[] =>
  Array.from({ length: count }, (_, i) => feeds(chance(2).fork(i)));
