import { ConfigError } from "../base/errors.ts";
import { call, sentence } from "../base/sentence.ts";
import { described, type ModelConfig, writes } from "../models/any.ts";
import { keepsPast } from "../models/continuation.ts";
import type { Held } from "../runtime/cache.ts";
import type { CompileOptions } from "../runtime/compile.ts";
import { baked } from "../trained/baked.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { rnnSpeaker } from "./recurrent.ts";
import type { Speaker } from "./speech.ts";
import { decoderSpeaker, encoderDecoderSpeaker } from "./transformer.ts";
import { wholeSpeaker } from "./whole.ts";

/** What a trained model says, in sessions that stay with it. */
export const speakerFor = (trained: TrainedModel): Promise<Held<Speaker>> =>
  trained.hold("speaker", () => speakerOf(trained.model, baked(trained.weights, trained.device)));

/** Any model that writes, with its weights baked in. An encoder does not write. */
export function speakerOf(model: ModelConfig, options: CompileOptions): Speaker {
  switch (model.model) {
    case "decoder":
      return keepsPast(model) ? decoderSpeaker(model, options) : wholeSpeaker(model, options);
    case "encoder-decoder":
      return keepsPast(model) ? encoderDecoderSpeaker(model, options) : wholeSpeaker(model, options);
    case "rnn":
      return rnnSpeaker(model, options);
    case "encoder":
      throw new ConfigError(
        sentence`an encoder reads and does not write; use it with ${call(model.task === "mlm" ? "fill" : model.task)}`,
        { code: "config.task" },
      );
    case "own":
      if (!writes(model)) throw new ConfigError(`${described(model)} does not write: it is for ${model.task}`, { code: "config.task" });
      return wholeSpeaker(model, options);
  }
}
