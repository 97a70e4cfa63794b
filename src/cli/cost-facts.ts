import type { CostMeasure } from "../bench/measured-cost.ts";
import type { ModelCost } from "../cost/cost.ts";
import { lectureNotes, lectureRows } from "../cost/lecture.ts";
import { published, type TrainingTotal } from "../cost/training.ts";
import { remembered } from "../training/optimizers.ts";

export interface Extras {
  readonly total?: TrainingTotal;
  readonly preset?: string;
  readonly measured?: CostMeasure;
  /** Of a run: the steps of the mean of its weights, and how many batches it adds up for a step of the optimizer. */
  readonly average?: number;
  readonly accumulate?: number;
}

export type CostFacts = ReturnType<typeof costFacts>;

/** Everything that is printed, as one value; what stands at the top is of a training step. */
export function costFacts(cost: ModelCost, { total, preset, measured, average, accumulate = 1 }: Extras) {
  const { model, parameters, optimizer, matrices, batch, length, sourceLength, decode, kvCacheBytes, phases } = cost;
  const { flops, bytes, intensity, activationBytes, parts, operations, layers } = phases.training ?? {};
  return {
    model,
    parameters,
    optimizer,
    stateBytes: 4 * remembered(optimizer, { trained: parameters, matrices, average }),
    batch,
    length,
    ...(sourceLength !== undefined && { sourceLength }),
    ...(accumulate > 1 && { accumulate }),
    decode,
    flops,
    bytes,
    intensity,
    activationBytes,
    kvCacheBytes,
    parts,
    operations,
    layers,
    phases,
    lecture: { sequence: lectureRows(cost, "sequence"), token: lectureRows(cost, "token") },
    notes: lectureNotes(cost),
    ...(total && { total }),
    ...(preset !== undefined && published[preset] && { published: published[preset] }),
    ...(measured && { measured }),
  };
}
