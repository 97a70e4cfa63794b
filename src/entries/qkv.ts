// What a program needs daily: train, go on, open, measure. The parts are behind qkv/graph, qkv/training, qkv/generation, qkv/inspect,
// qkv/pictures and qkv/hub.
export {
  ConfigError,
  DataError,
  EngineError,
  type ErrorCode,
  type ErrorFacts,
  FeedError,
  FormatError,
  GraphError,
  NetworkError,
  NonFiniteError,
  QkvError,
  RunError,
} from "../base/errors.ts";
export type { Sentence, Words } from "../base/sentence.ts";
export type { Ids } from "../batches/ids.ts";
export type { DataSource } from "../data/source.ts";
export { readExamples } from "../disk/text-files.ts";
export { type BatchMeasures, evaluateBatches } from "../evaluation/batches.ts";
export { type Embedding, type EmbedOptions, embedTexts } from "../evaluation/embed.ts";
export {
  type EvaluateOptions,
  type EvaluationData,
  evaluate,
  type HiddenMeasures,
  type LongerMeasures,
  type Measures,
  type TextMeasures,
  type TranslationMeasures,
} from "../evaluation/evaluate.ts";
export { type Candidate, type Filling, type FillOptions, fillTexts } from "../evaluation/fill.ts";
export type { LabelMeasures, SeveralMeasures } from "../evaluation/label-measures.ts";
export { type Classification, classifyTexts, type PredictOptions, type Tagging, type Texts, tagTexts } from "../evaluation/predict.ts";
export { type Rounding, roundingOf } from "../evaluation/rounding.ts";
export { type Translation, translateTexts } from "../evaluation/translate.ts";
export type { SamplingInput } from "../generation/sampling.ts";
export type { TranslateOptions } from "../generation/translator.ts";
export type { BeamWriteOptions, Sample, WriteOptions, WrittenToken } from "../generation/writer.ts";
export type { AttentionOptions } from "../inspection/attention.ts";
export type { AttentionKind, AttentionLook, Looked } from "../inspection/look.ts";
export type { Activation } from "../inspection/observe.ts";
export type { Read, ReadingOptions } from "../inspection/reading.ts";
export type { AnswerKind, AnswerOptions } from "../library/answering.ts";
export { type Exported, type ExportFormat, type ExportOptions, exportModel } from "../library/export.ts";
export type { ExportWeights } from "../library/exporter.ts";
export { type Merged, type MergeOptions, merge } from "../library/merge.ts";
export type { PredictFileEvent, PredictFileOptions, PredictFileResult } from "../library/predict-file.ts";
export type { Data } from "../library/rows.ts";
export { type Finished, type ModelSettings, type ResumeSettings, resume, type TrainSettings, train } from "../library/train.ts";
export { type MeasureOptions, type OpenOptions, open, Trained, TrainedModel } from "../library/trained.ts";
export { bleu } from "../metrics/bleu.ts";
export { type Claim, calibrationError, fittedTemperature } from "../metrics/calibration.ts";
export { chrf } from "../metrics/chrf.ts";
export { type ClassScores, classification, type Scores } from "../metrics/classification.ts";
export { editDistance, errorRate, exactMatch } from "../metrics/edits.ts";
export { bits, bitsPerByte, perplexity } from "../metrics/perplexity.ts";
export { type SeveralClassification, severalClassification } from "../metrics/several.ts";
export { type Span, type SpanScores, spanScores, spansOf } from "../metrics/spans.ts";
export { type ModelConfig, type ModelInput, type ModelName, modelConfig } from "../models/any.ts";
export type { DecoderConfig, EncoderConfig, EncoderDecoderConfig, RnnConfig } from "../models/config.ts";
export { type Define, type Definition, defineModel, type ModelDefinition, type OwnModel, type Settings } from "../models/own.ts";
export { preset } from "../models/presets.ts";
export { nodeDevice } from "../node/device.ts";
export { nodeEngine } from "../node/engine.ts";
export { type LongerTests, type Recipe, type RecipeData, type RecipeSettings, recipe, recipes } from "../recipes/index.ts";
export type { ClassWeights } from "../runs/class-weights.ts";
export type { RunConfig, TrainingConfig } from "../runs/config.ts";
export type { RunEvent, TrainResult } from "../runs/drive.ts";
export type { OpenRun } from "../runs/folder.ts";
export type { LoraSettings } from "../runs/prepare.ts";
export type { Changes } from "../runs/resume.ts";
export type { Device, Precision } from "../runtime/device.ts";
export type { DeviceChoice, DeviceName } from "../runtime/provider.ts";
export type { Arrays, Engine, Session, SessionOptions } from "../runtime/session.ts";
export {
  type Measure,
  type Measured,
  type Results,
  type Row,
  type RowResult,
  runStudy,
  type Study,
  type StudyEvent,
  type StudyOptions,
  type StudyOutcome,
  studies,
  study,
} from "../studies/index.ts";
export type {
  Classified,
  Columns,
  Example,
  Examples,
  Pair,
  SeveralLabelled,
  Tagged,
  Task,
} from "../text/examples.ts";
export type { GivenRow, GivenRows } from "../text/given.ts";
export { parseExamples } from "../text/parse-examples.ts";
export { type Split, splitByClass, splitByHash, withoutDuplicates } from "../text/split.ts";
export {
  type NormalForm,
  parseTokenizer,
  saveTokenizer,
  type Tokenizer,
  type TokenizerKind,
  type TrainTokenizerOptions,
  tokenizerKinds,
  trainTokenizer,
} from "../tokens/index.ts";
export type { Warn } from "../trained/reading.ts";
export type { TrainedParts } from "../trained/trained.ts";
export type { Progress, Report, StepReport, StoppedReport, ValidationReport } from "../training/fit.ts";
export { type Weights, weightsInMemory } from "../weights/weights.ts";
