// How text is written, one token at a time: speakers, sampling, beams, requests that come and go, text without broken characters.
export { type BeamOptions, beamSearch, type Hypothesis } from "../generation/beam.ts";
export type { Constraint } from "../generation/constraint.ts";
export { chooseToken } from "../generation/drawing.ts";
export type { Likely } from "../generation/likeliest.ts";
export { Prefixes } from "../generation/prefixes.ts";
export { type PromptOptions, promptOf } from "../generation/prompt.ts";
export {
  type BatchOptions,
  type Failed,
  type Finish,
  type Request,
  RunningBatch,
  type Said,
  type SaidToken,
} from "../generation/running-batch.ts";
export {
  type Before,
  type Candidates,
  candidates,
  drawToken,
  type Sampling,
  type SamplingInput,
  sampling,
} from "../generation/sampling.ts";
export type { Arrival, Beginning, Known, Next, Prompt, RowSize, Speaker, Speech } from "../generation/speech.ts";
export { TextStream } from "../generation/text-stream.ts";
export { type TranslateOptions, translateIds } from "../generation/translator.ts";
export {
  type BeamWriteOptions,
  type Piece,
  type Sample,
  type WriteOptions,
  type WrittenToken,
  write,
  writeBest,
  writeSamples,
} from "../generation/writer.ts";
export { speakerOf } from "../library/here.ts";
