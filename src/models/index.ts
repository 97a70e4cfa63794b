// The four architectures, their configs and their training losses.
export { type ModelConfig, type ModelInput, type ModelName, modelConfig, modelLoss, modelNames, takesAnyLength } from "./any.ts";
export {
  type DecoderConfig,
  type DecoderInput,
  decoderConfig,
  type EncoderConfig,
  type EncoderDecoderConfig,
  type EncoderDecoderInput,
  type EncoderInput,
  encoderConfig,
  encoderDecoderConfig,
  type RnnConfig,
  type RnnInput,
  rnnConfig,
} from "./config.ts";
export { decoder, decoderLoss, decoderStep } from "./decoder.ts";
export { encoder, encoderLoss, encoderStates } from "./encoder.ts";
export { encoderDecoder, encoderDecoderLoss, encoderDecoderSteps } from "./encoder-decoder.ts";
export type { LossOptions, Pair } from "./losses.ts";
export type { Mode } from "./mode.ts";
export { type Define, type Definition, defineModel, type ModelDefinition, type OwnModel, type Settings } from "./own.ts";
export { decoderPresets, encoderDecoderPresets, preset } from "./presets.ts";
export { rnnEncode, rnnEncoderDecoder, rnnLanguageModel, rnnLanguageModelLoss, rnnLoss, rnnStep } from "./rnn.ts";
