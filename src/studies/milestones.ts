import { cacheFolder } from "../data/cache.ts";
import { Checkpoints } from "../disk/checkpoints.ts";
import { weightsIn } from "../disk/weight-file.ts";
import { evaluate } from "../evaluation/evaluate.ts";
import { ParameterBuffer } from "../graph/parameters.ts";
import type { Trained } from "../library/trained.ts";
import { modelLoss } from "../models/any.ts";
import { paths } from "../runs/folder.ts";
import { parametersOf } from "../runtime/compile.ts";
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
  for (const step of new Checkpoints(paths(run.folder).checkpoints).list()) {
    const { threads } = run.config.training;
    const measures = await evaluate(run, weightsAt(run, step), { kind: "examples", examples }, { cache: cacheFolder(), threads });
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

function weightsAt({ folder, config }: Trained, step: number): ParameterBuffer {
  const layout = parametersOf(modelLoss(config.model));
  const file = weightsIn(`${paths(folder).checkpoints}/${step}/weights.safetensors`, layout);
  const weights = new ParameterBuffer(layout);
  for (const { name, offset } of layout.entries) weights.data.set(file.numbers(name), offset);
  return weights;
}
