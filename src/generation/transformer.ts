import { emptyArray, type HostArray } from "../base/arrays.ts";
import type { DecoderConfig, EncoderDecoderConfig } from "../models/config.ts";
import { type Kept, keptOf } from "../models/continuation.ts";
import { decoderStep } from "../models/decoder.ts";
import { encoderDecoderSteps, keptSource } from "../models/encoder-decoder.ts";
import { type CompileOptions, compile } from "../runtime/compile.ts";
import type { Arrays } from "../runtime/session.ts";
import { KeptRows } from "./kept-rows.ts";
import { integers, lengthsOf, padded } from "./padded.ts";
import { checkPrompt, type Next, nextOf, type Prompt, type Speaker, type Speech } from "./speech.ts";

/** What runs: a step over new tokens, and for an encoder–decoder what it makes of sources. */
interface Parts {
  readonly kept: readonly Kept[];
  readonly heads: number;
  step(feeds: Arrays): Promise<Arrays>;
  readonly source?: { readonly kept: readonly { readonly input: string; readonly size: number }[]; encode(feeds: Arrays): Promise<Arrays> };
}

/** A decoder that keeps the keys and values of the tokens before: one session, whatever the number of rows and their lengths. */
export function decoderSpeaker(config: DecoderConfig, options: CompileOptions): Speaker {
  const kept = keptOf(config, "decoder");
  const step = compile(decoderStep(config), { ...options, symbols: "open", taps: kept.map(({ tap }) => tap) });
  const parts: Parts = { kept, heads: config.heads, step: (feeds) => step.run(feeds as never) };
  return {
    vocab: config.vocab,
    longest: config.context,
    check: (prompt) => checkPrompt(prompt, config.vocab),
    begin: () => new TransformerSpeech(parts),
    release: () => step.release(),
  };
}

/** An encoder–decoder: the encoder runs once for a source, the decoder goes on as a decoder does. */
export function encoderDecoderSpeaker(config: EncoderDecoderConfig, options: CompileOptions): Speaker {
  const kept = keptOf(config, "model/decoder");
  const functions = encoderDecoderSteps(config);
  const encode = compile(functions.encode, { ...options, symbols: "open" });
  const step = compile(functions.next, { ...options, symbols: "open", taps: kept.map(({ tap }) => tap) });
  const parts: Parts = {
    kept,
    heads: config.heads,
    step: (feeds) => step.run(feeds as never),
    source: { kept: keptSource(config), encode: (feeds) => encode.run(feeds as never) },
  };
  return {
    vocab: config.vocab,
    longest: config.context,
    check: (prompt) => checkPrompt(prompt, config.vocab, config.sourceVocab ?? config.vocab),
    begin: () => new TransformerSpeech(parts),
    release: async () => {
      await encode.release();
      await step.release();
    },
  };
}

class TransformerSpeech implements Speech {
  readonly #parts: Parts;
  readonly #own: KeptRows;
  readonly #source: KeptRows | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#own = new KeptRows(parts.kept, parts.heads);
    this.#source = parts.source && new KeptRows(parts.source.kept, parts.heads);
  }

  get lengths(): readonly number[] {
    return this.#own.lengths;
  }

  async join(prompts: readonly Prompt[]): Promise<Next[]> {
    const lists = prompts.map(({ ids }) => ids);
    const lengths = lists.map((ids) => ids.length);
    const known = await this.#read(prompts);
    const results = await this.#parts.step({
      ids: padded(lists),
      before: integers(lists.map(() => 0)),
      last: integers(lengths.map((length) => length - 1)),
      ...this.#nothingYet(prompts.length),
      ...known,
    });
    // Nothing is kept before everything is there: a row of one without a row of the other would be somebody else's.
    this.#own.join(this.#taps(results), lengths);
    this.#source?.join(this.#parts.source?.kept.map(({ input }) => known[input]) ?? [], Array.from(known.lengths.data, Number));
    return nextOf(results);
  }

  async next(tokens: readonly number[]): Promise<Next[]> {
    const results = await this.#parts.step({
      ids: padded(tokens.map((token) => [token])),
      before: integers(this.lengths),
      last: integers(tokens.map(() => 0)),
      ...this.#own.views(),
      ...(this.#source && { ...this.#source.views(), lengths: integers(this.#source.lengths) }),
    });
    this.#own.append(this.#taps(results));
    return nextOf(results);
  }

  keep(rows: readonly number[]): void {
    this.#own.keep(rows);
    this.#source?.keep(rows);
  }

  /** Encodes the sources: what the decoder will ask of these rows. */
  async #read(prompts: readonly Prompt[]): Promise<Arrays> {
    const { source } = this.#parts;
    if (!source) return {};
    const sources = prompts.map((prompt) => prompt.source ?? new Int32Array(0));
    const lengths = lengthsOf(sources);
    return { ...(await source.encode({ source: padded(sources), lengths })), lengths };
  }

  /** A past of one place that nobody sees: products over nothing are not to be relied on. */
  #nothingYet(rows: number): Arrays {
    const { kept, heads } = this.#parts;
    const empty = (size: number): HostArray => ({
      dtype: "float32",
      shape: [rows, heads, 1, size],
      data: emptyArray("float32", rows * heads * size),
    });
    return Object.fromEntries(kept.map(({ input, size }) => [input, empty(size)]));
  }

  #taps(results: Arrays): HostArray[] {
    return this.#parts.kept.map(({ tap }) => results[tap]);
  }
}
