import { elementCount } from "../base/arrays.ts";
import { RunError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { buildGraph, graphNodes } from "../graph/graph.ts";
import { isParameter } from "../graph/leaves.ts";
import { concreteShape } from "../graph/type.ts";
import { type ModelConfig, modelLoss } from "../models/any.ts";
import type { TrainingConfig } from "./config.ts";

const buffers = { adamw: 4, adam: 4, sgd: 3 } as const;

/**
 * Refuses a model that cannot be trained on this machine, with the arithmetic, before anything is allocated. Activations are everything
 * that the forward pass computes, kept for the way back, of a batch of texts as long as the longest.
 */
export function refuseTooBig(
  parameters: number,
  config: ModelConfig,
  { batch, optimizer, accumulate }: TrainingConfig,
  free: number,
  { trained = parameters, length = config.context }: { readonly trained?: number; readonly length?: number } = {},
): void {
  const copies = buffers[optimizer] + (accumulate > 1 ? 1 : 0);
  const state = 4 * (parameters + (copies - 1) * trained);
  const sum =
    trained === parameters
      ? `${count(parameters)} parameters × 4 bytes × ${copies} (weights, gradients, optimizer state) = ${gigabytes(state)}`
      : `${count(parameters)} parameters × 4 bytes and, for the ${count(trained)} that are trained, × ${copies - 1} more (gradients, optimizer state) = ${gigabytes(state)}`;
  const cure = sentence`choose fewer ${setting("layers")}, or a smaller ${setting("width")} or ${setting("vocab")}`;
  const code = "memory";
  if (state > free)
    throw new RunError(sentence`this model is too big to train here: ${sum}, and ${gigabytes(free)} are free; ${cure}`, { code });
  const kept = activationBytes(config, batch, length);
  if (state + kept > free)
    throw new RunError(
      sentence`this model is too big for the memory of this machine: ${sum}, and about ${gigabytes(kept)} for the activations of a batch of ${batch}, but ${gigabytes(free)} are free; ${cure}, ${setting("batch")} or ${setting("context")}`,
      { code },
    );
}

function activationBytes(config: ModelConfig, batch: number, length: number): number {
  const bind = { batch, time: length, ...("source" in modelLoss(config).inputs ? { sourceTime: length } : {}) };
  const nodes = graphNodes(buildGraph(modelLoss(config), { bind })).filter((node) => !isParameter(node));
  return nodes.flatMap(({ outputs }) => outputs).reduce((total, { type }) => total + 4 * elementCount(concreteShape(type) ?? []), 0);
}

const count = (value: number): string => value.toLocaleString("en");
const gigabytes = (bytes: number): string => `${(bytes / 2 ** 30).toLocaleString("en", { maximumSignificantDigits: 4 })} GiB`;
