// The parts of a training: batches by number, optimizers, schedules, and the loop that yields what happens.
export type { Batch, Batches } from "../batches/batch.ts";
export {
  type BucketOptions,
  type ExampleBatches,
  type LabelledIds,
  type Layout,
  labelledLayout,
  type PairIds,
  pairLayout,
  scoringBatches,
  type TaggedIds,
  taggedLayout,
  trainingBatches,
} from "../batches/examples.ts";
export { type Ids, idsInMemory } from "../batches/ids.ts";
export { type ScoringOptions, scoringWindows, trainingWindows, type WindowOptions } from "../batches/windows.ts";
export { type Checkpoint, Checkpoints, type CheckpointsOptions } from "../disk/checkpoints.ts";
export { fit } from "../library/here.ts";
export type { TrainOptions } from "../runs/drive.ts";
export type { RunSettings } from "../runs/prepare.ts";
export { checkpointFiles, type Position, restore } from "../runs/state.ts";
export { resumeRun, trainRun } from "../runs/train-run.ts";
export { Adam, type AdamOptions, AdamW, Sgd, type SgdOptions } from "../training/adam.ts";
export type { FitOptions, Progress, Report, StepReport, StoppedReport, ValidationReport } from "../training/fit.ts";
export { Muon, type MuonOptions } from "../training/muon.ts";
export { Optimizer, type OptimizerOptions, type Segment } from "../training/optimizer.ts";
export { type OptimizerName, optimizer } from "../training/optimizers.ts";
export { learningRate, type ScheduleName, type ScheduleOptions } from "../training/schedule.ts";
export { meanLoss, type Scored, trainedLoss } from "../training/score.ts";
