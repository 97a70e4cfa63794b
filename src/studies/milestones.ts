import { Checkpoints } from "../disk/checkpoints.ts";
import { weightsInFile } from "../disk/safetensors-file.ts";
import { evaluate } from "../evaluation/evaluate.ts";
import type { Trained } from "../library/trained.ts";
import { modelLoss } from "../models/any.ts";
import { nodeDevice } from "../node/device.ts";
import { paths } from "../runs/folder.ts";
import { trainedParts } from "../runs/weights.ts";
import { parametersOf } from "../runtime/compile.ts";
import { TrainedModel } from "../trained/trained.ts";
import { heldOut } from "./answers.ts";

// How soon a model gets there: its checkpoints are measured, one after the other.

/** The share of right answers that counts as having learned it. */
const bar = 0.99;

/** Training that leaves a checkpoint after every so many steps. */
export const milestones = (every: number) => ({ saveEvery: every, keep: 10_000 });

export interface Milestone {
  readonly step: number;
  readonly accuracy: number;
}

/** The accuracy of every checkpoint on the test, up to the first that reaches the bar. */
export async function accuracies(run: Trained): Promise<Milestone[]> {
  const examples = await heldOut(run);
  const found: Milestone[] = [];
  const { folder, config } = run.run;
  const layout = parametersOf(modelLoss(run.model));
  for (const step of new Checkpoints(paths(folder).checkpoints).list()) {
    const weights = weightsInFile(`${paths(folder).checkpoints}/${step}/weights.safetensors`, layout);
    const then = new TrainedModel({ ...trainedParts(run.run, nodeDevice({ threads: config.training.threads })), weights });
    const measures = await evaluate(then, { kind: "examples", examples }).finally(() => then.release());
    const accuracy = "accuracy" in measures ? measures.accuracy : undefined;
    if (accuracy === undefined) break; // the run does not label
    found.push({ step, accuracy });
    if (accuracy >= bar) break;
  }
  return found;
}

/** The first of the milestones that reaches the bar, as a column of a table; nothing if none does. */
export function stepsToBar(found: readonly Milestone[]): Record<string, number> {
  const reached = found.find(({ accuracy }) => accuracy >= bar);
  return reached ? { [`steps to ${100 * bar} %`]: reached.step } : {};
}
