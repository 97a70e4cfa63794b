import { ConfigError } from "../base/errors.ts";
import { perplexity } from "../metrics/perplexity.ts";
import { writes } from "../models/any.ts";
import type { Precision } from "../runtime/device.ts";
import { TrainedModel } from "../trained/trained.ts";
import { trainedLoss } from "../training/score.ts";
import { type EvaluationData, fewBatches, requireFitting } from "./evaluate.ts";

/** What rounding the weights does to a model, on a part of the data that it was not trained on. */
export interface Rounding {
  readonly precision: Precision;
  /** With the weights as they were trained, and rounded. */
  readonly f32: number;
  readonly rounded: number;
  readonly tokens: number;
}

/** The perplexity before and after rounding to the precision of the model's device. */
export async function roundingOf(trained: TrainedModel, data: EvaluationData): Promise<Rounding> {
  const { model, tokenizer, weights, device } = trained;
  if (!writes(model))
    throw new ConfigError("perplexity is of models that write; a classifier or a tagger is measured by evaluate", { code: "config.task" });
  requireFitting(trained, data);
  const whole = new TrainedModel({ model, tokenizer, weights, device: { ...device, precision: "f32" } });
  try {
    const before = await trainedLoss(whole, fewBatches(whole, data));
    const after = await trainedLoss(trained, fewBatches(trained, data));
    const { precision = "f32" } = device;
    return { precision, f32: perplexity(before.loss), rounded: perplexity(after.loss), tokens: before.targets };
  } finally {
    await whole.release();
  }
}
