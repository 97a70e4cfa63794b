import { elementCount } from "../base/arrays.ts";
import { RunError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { buildGraph, graphNodes } from "../graph/graph.ts";
import { isParameter } from "../graph/leaves.ts";
import type { Node, Tensor } from "../graph/tensor.ts";
import { concreteShape } from "../graph/type.ts";
import { type ModelConfig, modelLoss } from "../models/any.ts";
import { isAttend } from "../ops/attend.ts";
import { goesEach } from "../ops/attend-each.ts";
import { blockOf, type Keeps, keepsOf } from "../runtime/pipeline.ts";
import { trainingLoss } from "../training/loss.ts";
import type { TrainingConfig } from "./config.ts";

const buffers = { adamw: 4, adam: 4, sgd: 3, muon: 4 } as const;

interface Sizes {
  /** How many of the parameters are trained, and how many of these are in matrices; all, and none. */
  readonly trained?: number;
  readonly matrices?: number;
  /** Of the longest text. */
  readonly length?: number;
}

/**
 * Refuses a model that cannot be trained on this machine, with the arithmetic, before anything is allocated. Activations are everything
 * that the forward pass computes, kept for the way back, of a batch of texts as long as the longest.
 */
export function refuseTooBig(
  parameters: number,
  config: ModelConfig,
  { batch, optimizer, accumulate, average = 0, ...again }: TrainingConfig,
  free: number,
  { trained = parameters, matrices = 0, length = config.context }: Sizes = {},
): void {
  const copies = buffers[optimizer] + (accumulate > 1 ? 1 : 0) + (average > 0 ? 1 : 0);
  const once = optimizer === "muon" ? matrices : 0;
  const state = 4 * (parameters + (copies - 1) * trained - once);
  const less = once > 0 ? `, less one of ${count(once)} numbers in matrices` : "";
  const sum =
    trained === parameters
      ? `${count(parameters)} parameters × 4 bytes × ${copies} (weights, gradients, optimizer state)${less} = ${gigabytes(state)}`
      : `${count(parameters)} parameters × 4 bytes and, for the ${count(trained)} that are trained, × ${copies - 1} more (gradients, optimizer state)${less} = ${gigabytes(state)}`;
  const cure = sentence`choose fewer ${setting("layers")}, or a smaller ${setting("width")} or ${setting("vocab")}`;
  const code = "memory";
  if (state > free)
    throw new RunError(sentence`this model is too big to train here: ${sum}, and ${gigabytes(free)} are free; ${cure}`, { code });
  const kept = activationBytes(config, batch, length, keepsOf(again));
  if (state + kept > free)
    throw new RunError(
      sentence`this model is too big for the memory of this machine: ${sum}, and about ${gigabytes(kept)} for the activations of a batch of ${batch}, but ${gigabytes(free)} are free; ${cure}, ${setting("batch")} or ${setting("context")}`,
      { code },
    );
}

/**
 * All that is kept for the way back, without the patterns of attention that are computed again, but the largest that is there at once; or, where blocks are computed
 * again, what goes into them and all of the largest one.
 */
function activationBytes(config: ModelConfig, batch: number, length: number, keeps: Keeps): number {
  const again = keeps === "block inputs";
  const bind = { batch, time: length, ...("source" in modelLoss(config).inputs ? { sourceTime: length } : {}) };
  const nodes = graphNodes(buildGraph(trainingLoss(config, {}, length), { bind })).filter((node) => !isParameter(node));
  const bytesOf = (tensors: Iterable<Tensor>) =>
    [...tensors].reduce((total, { type }) => total + 4 * elementCount(concreteShape(type) ?? []), 0);
  const all = keeps === "all but patterns";
  const one = (node: Node) => goesEach(node, { all }); // then that of one example is there at once
  const patterns = new Map(
    nodes.filter((node) => isAttend(node) && (all || one(node))).map((node) => [node.outputs[1], one(node) ? 1 / batch : 1]),
  );
  const kept = new Set(nodes.filter((node) => !again || blockOf(node) === undefined).flatMap(({ outputs }) => outputs));
  for (const pattern of patterns.keys()) kept.delete(pattern);
  const blocks = new Map<string, number>();
  for (const node of again ? nodes : []) {
    const block = blockOf(node);
    if (block !== undefined) blocks.set(block, (blocks.get(block) ?? 0) + bytesOf(node.outputs));
    for (const x of node.inputs) if (blockOf(x.node) !== block && !isParameter(x)) kept.add(x);
  }
  return bytesOf(kept) + Math.max(0, ...blocks.values(), ...[...patterns].map(([pattern, share]) => share * bytesOf([pattern])));
}

const count = (value: number): string => value.toLocaleString("en");
const gigabytes = (bytes: number): string => `${(bytes / 2 ** 30).toLocaleString("en", { maximumSignificantDigits: 4 })} GiB`;
