import { mostHidden } from "../batches/hidden.ts";
import { type ModelConfig, modelLoss, taskOf } from "../models/any.ts";
import type { LossOptions } from "../models/losses.ts";

/**
 * A model's loss as it is trained, with sequences of so many tokens. One that finds hidden tokens gives scores only where some may be hidden: most of its arithmetic would
 * go into scores that nobody asks for.
 */
export const trainingLoss = (model: ModelConfig, options: LossOptions = {}, length = model.context) =>
  modelLoss(model, { ...options, ...(taskOf(model) === "mlm" && { most: mostHidden(length) }) });
