import { ConfigError } from "../base/errors.ts";
import type { ModelConfig } from "../models/any.ts";
import { keepsPast } from "../models/continuation.ts";
import type { SpeakerOptions } from "./memory.ts";
import { rnnSpeaker } from "./recurrent.ts";
import type { Speaker } from "./speech.ts";
import { decoderSpeaker, encoderDecoderSpeaker } from "./transformer.ts";
import { wholeSpeaker } from "./whole.ts";

/** Any model that writes, with its weights baked in. An encoder does not write. */
export function speakerOf(model: ModelConfig, options: SpeakerOptions): Speaker {
  switch (model.model) {
    case "decoder":
      return keepsPast(model) ? decoderSpeaker(model, options) : wholeSpeaker(model, options);
    case "encoder-decoder":
      return keepsPast(model) ? encoderDecoderSpeaker(model, options) : wholeSpeaker(model, options);
    case "rnn":
      return rnnSpeaker(model, options);
    case "encoder":
      throw new ConfigError(`an encoder reads and does not write; use it with qkv ${model.task}`);
  }
}
