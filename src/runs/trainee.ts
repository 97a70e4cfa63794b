import type { Material } from "../data/material.ts";
import type { TensorFunction } from "../graph/graph.ts";
import type { ParameterLayout } from "../graph/parameters.ts";
import { taskOf } from "../models/any.ts";
import { adapted, adapterLayout } from "../models/lora.ts";
import type { CompileOptions } from "../runtime/compile.ts";
import { parametersOf } from "../runtime/compile.ts";
import { trainingLoss } from "../training/loss.ts";
import type { OpenRun } from "./folder.ts";
import { baseWeights } from "./weights.ts";

// What of a run is trained: all of its model, or an adapter beside a base that is baked into the graph.

export interface Trainee {
  /** What is made small. */
  readonly loss: TensorFunction;
  /** What is measured on data that was held out: weighted as in training, without dropout. */
  readonly scored: TensorFunction;
  /** What is fed, and has gradients and what the optimizer remembers. */
  readonly layout: ParameterLayout;
  /** Of the whole model. */
  readonly parameters: number;
  /** Where the engine finds what is not fed. */
  readonly baked: Pick<CompileOptions, "weights" | "folder">;
}

/** Windows of a text that is written on have no positions that are left out; of examples, and of texts with hidden tokens, some are. */
export function traineeOf(run: OpenRun, material: Pick<Material, "kind">): Trainee {
  const { model, training } = run.config;
  const { classWeights, labelSmoothing: smoothing, lora } = training;
  const every = material.kind === "text" && taskOf(model) !== "mlm";
  const loss = trainingLoss(model, { smoothing, classWeights, ...(every && { ignore: null }) });
  const scored = trainingLoss(model, { classWeights, training: false });
  const layout = parametersOf(loss);
  if (!lora) return { loss, scored, layout, parameters: layout.total, baked: {} };
  const base = baseWeights(run);
  const own = adapterLayout(adapted(loss, lora));
  const frozen = new Set(layout.entries.map(({ name }) => name));
  return {
    loss: adapted(loss, lora),
    scored: adapted(scored, lora, { training: false }),
    layout: own,
    parameters: layout.total + own.total,
    baked: { weights: (name) => (frozen.has(name) ? base.source(name) : undefined), folder: base.folder },
  };
}
