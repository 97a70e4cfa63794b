// The public list: numbers and chance, text and tokens, graphs and ops, gradients, what runs, models, training, runs, measures.
export { array, type DType, type HostArray, type TypedArray } from "./base/arrays.ts";
export { type Chance, chance } from "./base/chance.ts";
export {
  ConfigError,
  DataError,
  EngineError,
  type ErrorCode,
  type ErrorFacts,
  FeedError,
  FormatError,
  GraphError,
  NonFiniteError,
  QkvError,
  RunError,
} from "./base/errors.ts";
export type { Sentence, Words } from "./base/sentence.ts";
export type { Batch, Batches } from "./batches/batch.ts";
export { type ExampleBatches, labelledLayout, pairLayout, scoringBatches, taggedLayout, trainingBatches } from "./batches/examples.ts";
export { type Ids, idsInMemory } from "./batches/ids.ts";
export { scoringWindows, trainingWindows } from "./batches/windows.ts";
export { type CostOptions, cost, type ModelCost, type PhaseCost } from "./cost/cost.ts";
export { productFormulas } from "./cost/formulas.ts";
export { lectureRows } from "./cost/lecture.ts";
export { countedScaling } from "./cost/scaling.ts";
export { trainingTotal } from "./cost/training.ts";
export { givenData, type HeldOut, ownData } from "./data/held-out.ts";
export { Checkpoints } from "./disk/checkpoints.ts";
export { readExamples, readTextChunks } from "./disk/text-files.ts";
export { openWeights, type WeightFile } from "./disk/weight-file.ts";
export { evaluate, type Measures } from "./evaluation/evaluate.ts";
export { type Classification, classifyTexts, type PredictOptions, type Tagging, tagTexts } from "./evaluation/predict.ts";
export { type Rounding, roundingOf } from "./evaluation/rounding.ts";
export { type Translation, translateTexts } from "./evaluation/translate.ts";
export { type BeamOptions, beamSearch, type Hypothesis } from "./generation/beam.ts";
export { type Finish, type Request, RunningBatch, type Said } from "./generation/running-batch.ts";
export { type Candidates, candidates, chosen, type Sampling, type SamplingInput, sampling } from "./generation/sampling.ts";
export { speakerOf } from "./generation/speaker.ts";
export type { Next, Prompt, Speaker, Speech } from "./generation/speech.ts";
export { TextStream } from "./generation/text-stream.ts";
export { type TranslateOptions, Translator } from "./generation/translator.ts";
export { type BeamWriteOptions, type Piece, type Sample, type WriteOptions, Writer, type WrittenToken } from "./generation/writer.ts";
export { type GradOptions, grad } from "./gradients/grad.ts";
export { graphCost, nodeCost } from "./graph/cost.ts";
export { Dim, type DimLike } from "./graph/dim.ts";
export type { Emitter, Value } from "./graph/emitter.ts";
export { buildGraph, type Graph, type GraphOptions, graphNodes, type TensorFunction, tensorFunction } from "./graph/graph.ts";
export { constant, type Initialiser, normal, ones, scalar, uniform, zeros } from "./graph/leaves.ts";
export { type Cost, defineOp, type Example, type OpDefinition } from "./graph/op.ts";
export { ParameterBuffer, type ParameterEntry, type ParameterLayout } from "./graph/parameters.ts";
export { printGraph } from "./graph/print.ts";
export { layer, type Scope } from "./graph/scope.ts";
export type { Tensor } from "./graph/tensor.ts";
export { bool, float32, float64, int32, int64, size, type TensorType, uint8 } from "./graph/type.ts";
export { type Alignment, type Attended, alignmentOf, attendedBy, rollout } from "./inspection/alignment.ts";
export { type Answers, answersOf, type Candidate, nextTokensOf } from "./inspection/answers.ts";
export { type AttentionOptions, attentionOf, kindsOf } from "./inspection/attention.ts";
export { type GeometryPanel, plainLayerNorm, toyGeometry } from "./inspection/geometry.ts";
export { keyGeometry, keySpace } from "./inspection/key-space.ts";
export { type Lens, logitLens } from "./inspection/lens.ts";
export { type AttentionKind, type AttentionLook, type Looked, look } from "./inspection/look.ts";
export type { Activation } from "./inspection/observe.ts";
export { ablateHead, type Change, type Patched, patch, swap } from "./inspection/patch.ts";
export { type PathLength, pathLength } from "./inspection/path-length.ts";
export { type Positions, positionsOf } from "./inspection/positions.ts";
export type { ReadingOptions, RunLike } from "./inspection/reading.ts";
export { selectableKeys } from "./inspection/selectable.ts";
export { type AttentionStatistics, type HeadSummary, headStatisticsOf } from "./inspection/statistics.ts";
export { type TapInfo, taps } from "./inspection/taps.ts";
export * from "./layers/index.ts";
export { type TrainSettings, train } from "./library/train.ts";
export { open, Trained, type TrainedOptions } from "./library/trained.ts";
export { bleu } from "./metrics/bleu.ts";
export { chrf } from "./metrics/chrf.ts";
export { classification } from "./metrics/classification.ts";
export { editDistance, errorRate, exactMatch } from "./metrics/edits.ts";
export { bits, bitsPerByte, perplexity } from "./metrics/perplexity.ts";
export * from "./models/index.ts";
export { nodeEngine } from "./node/engine.ts";
export { type EmitOptions, emitOnnx, type WeightSource } from "./onnx/emit.ts";
export * from "./ops/index.ts";
export { alignment } from "./pictures/alignment.ts";
export { attentionGrid } from "./pictures/attention-grid.ts";
export { attentionMap } from "./pictures/attention-map.ts";
export { attentionText } from "./pictures/attention-text.ts";
export { comparison } from "./pictures/comparison.ts";
export { headStatistics } from "./pictures/head-statistics.ts";
export { interactiveHtml } from "./pictures/interactive-html.ts";
export { layerNormGeometry } from "./pictures/layer-norm-geometry.ts";
export { lossCurves } from "./pictures/loss-curves.ts";
export { nextTokens } from "./pictures/next-tokens.ts";
export { positionTable } from "./pictures/position-table.ts";
export { roofline } from "./pictures/roofline.ts";
export { recipe, recipes } from "./recipes/index.ts";
export type { RunConfig, TrainingConfig } from "./runs/config.ts";
export type { RunEvent, TrainOptions, TrainResult } from "./runs/drive.ts";
export { type OpenRun, openRun, readWeights } from "./runs/folder.ts";
export type { RunSettings } from "./runs/prepare.ts";
export { resumeRun, trainRun } from "./runs/train-run.ts";
export { type CompiledFunction, type CompileOptions, compile, parametersOf, type Results } from "./runtime/compile.ts";
export type { RunOptions } from "./runtime/program.ts";
export type { Engine, Session, SessionOptions } from "./runtime/session.ts";
export { runStudy, type Study, type StudyEvent, type StudyOptions, studies, study } from "./studies/index.ts";
export {
  type Classified,
  type Example as TextExample,
  type Examples,
  type Pair as TextPair,
  parseExamples,
  type Tagged,
  type Task,
} from "./text/examples.ts";
export { splitByHash, withoutDuplicates } from "./text/split.ts";
export * from "./tokens/index.ts";
export { baked, type Precision } from "./trained/baked.ts";
export { type FitOptions, fit, type Progress, type Report } from "./training/fit.ts";
export { Optimizer, type OptimizerOptions } from "./training/optimizer.ts";
export { Adam, type AdamOptions, AdamW, optimizer, Sgd, type SgdOptions } from "./training/optimizers.ts";
export { learningRate, type ScheduleOptions } from "./training/schedule.ts";
export { Scorer } from "./training/score.ts";
export { countParameters, type PartCount } from "./weights/count.ts";
export { initialise } from "./weights/initialise.ts";
export { loadParameters, parametersAsTensors } from "./weights/load.ts";
export { dequantised, type Quantised, quantise } from "./weights/quantise.ts";
export { readSafetensors, type Safetensors, safetensorsParts } from "./weights/safetensors.ts";
