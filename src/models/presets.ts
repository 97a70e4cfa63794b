import { ConfigError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { DecoderInput, EncoderDecoderInput } from "./config.ts";

// Sizes by name. The command line's --preset takes these names.

const gpt2 = (layers: number, heads: number, width: number): DecoderInput => ({
  layers,
  heads,
  width,
  context: 1024,
  vocab: 50257,
  positions: "learned",
  norm: "layer",
  normPlace: "pre",
  activation: "gelu-tanh",
  tie: true,
});

/**
 * The GPT-3 table (Brown et al. 2020, table 2.1). Two rows as printed do not fit together, since heads · size must be the width:
 * XL has 24 heads of 128 for a width of 2,048 (that would be 3,072), and 13B 40 heads of 128 for a width of 5,140 (5,120). The
 * published totals are reached with 16 heads of 128, and with a width of 5,120; so these are the presets.
 */
const gpt3 = (layers: number, heads: number, width: number): DecoderInput => ({ ...gpt2(layers, heads, width), context: 2048 });

const paper = (layers: number, heads: number, width: number, hidden: number, dropout: number): EncoderDecoderInput => ({
  layers,
  heads,
  width,
  hidden,
  dropout,
  context: 512,
  vocab: 37_000,
  positions: "sinusoidal",
  norm: "layer",
  normPlace: "post",
  activation: "relu",
  tie: true,
});

export const decoderPresets: Readonly<Record<string, DecoderInput>> = {
  w1: { ...gpt2(4, 4, 128), context: 64, vocab: 65, activation: "gelu" },
  w2: { ...gpt2(6, 6, 384), context: 256, vocab: 65, activation: "gelu" },
  gpt2: gpt2(12, 12, 768),
  "gpt2-medium": gpt2(24, 16, 1024),
  "gpt2-large": gpt2(36, 20, 1280),
  "gpt2-xl": gpt2(48, 25, 1600),
  "gpt3-small": gpt3(12, 12, 768),
  "gpt3-medium": gpt3(24, 16, 1024),
  "gpt3-large": gpt3(24, 16, 1536),
  "gpt3-xl": gpt3(24, 16, 2048),
  "gpt3-2.7b": gpt3(32, 32, 2560),
  "gpt3-6.7b": gpt3(32, 32, 4096),
  "gpt3-13b": gpt3(40, 40, 5120),
  "gpt3-175b": gpt3(96, 96, 12288),
};

export const encoderDecoderPresets: Readonly<Record<string, EncoderDecoderInput>> = {
  "transformer-base": paper(6, 8, 512, 2048, 0.1),
  "transformer-big": paper(6, 16, 1024, 4096, 0.3),
};

/** A preset by name, with the model it is for. */
export function preset(
  name: string,
): { model: "decoder"; config: DecoderInput } | { model: "encoder-decoder"; config: EncoderDecoderInput } {
  if (Object.hasOwn(decoderPresets, name)) return { model: "decoder", config: decoderPresets[name] };
  if (Object.hasOwn(encoderDecoderPresets, name)) return { model: "encoder-decoder", config: encoderDecoderPresets[name] };
  const names = [...Object.keys(decoderPresets), ...Object.keys(encoderDecoderPresets)];
  throw new ConfigError(`there is no preset called "${name}"${suggest(name, names) || `; there are ${names.join(", ")}`}`, {
    code: "config.unknown-name",
  });
}
