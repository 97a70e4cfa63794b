import { join } from "node:path";
import { ConfigError } from "../base/errors.ts";
import { Checkpoints } from "../disk/checkpoints.ts";
import { modelLoss } from "../models/any.ts";
import { adaptedMatrices } from "../models/lora.ts";
import { parametersOf } from "../runtime/compile.ts";
import { changedWeights } from "../weights/adapted.ts";
import { type Weights, weightsInMemory } from "../weights/weights.ts";
import { changesOf, loraLayout } from "./adapter.ts";
import { type OpenRun, paths } from "./folder.ts";
import { checkpointWeights, weightsName } from "./state.ts";
import { baseWeights } from "./weights.ts";

/** A run with the weights of one of its checkpoints. They are read now, so training may go on and remove the checkpoint. */
export function atStep(run: OpenRun, step: number): OpenRun {
  const { folder, outside } = run;
  const checkpoints = new Checkpoints(paths(folder).checkpoints);
  const found = outside ? undefined : checkpoints.at(step);
  if (!found) {
    const steps = outside ? [] : checkpoints.list();
    const there = steps.length > 0 ? `there are those of ${steps.join(", ")}` : "there are none";
    throw new ConfigError(`${folder} has no checkpoint of step ${step}; ${there}`, { code: "config.choice", path: "step" });
  }
  const weights = weightsOf(run, found);
  return { ...run, step, outside: { files: [join(found.folder, weightsName)], weights: () => weights } };
}

function weightsOf(run: OpenRun, checkpoint: Parameters<typeof checkpointWeights>[0]): Weights {
  const { model, training } = run.config;
  const { lora } = training;
  const layout = parametersOf(modelLoss(model));
  if (!lora) return weightsInMemory(checkpointWeights(checkpoint, layout, run.config.training));
  const adapter = checkpointWeights(checkpoint, loraLayout(model, lora), run.config.training); // the base is as it ever was
  return changedWeights(baseWeights(run), layout, changesOf(adaptedMatrices(modelLoss(model), lora), lora, adapter));
}
