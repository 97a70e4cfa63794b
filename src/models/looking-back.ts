import { type DecoderConfig, type EncoderConfig, encoderConfig } from "./config.ts";

/** A decoder's blocks as an encoder that looks back alone: what its last token knows is what the whole text says. */
export function lookingBack(model: DecoderConfig, head: Pick<EncoderConfig, "task" | "labels">): EncoderConfig {
  const { model: _, tie: __, scoresScale: ___, scoresBias: ____, scoresCap: _____, ...blocks } = model;
  return encoderConfig({ ...blocks, model: "encoder", ...head, pool: "last", causal: true });
}

/** The decoder's name of one of that encoder's parameters. */
export const decoderName = (name: string): string => name.replace(/^encoder\//, "decoder/");
