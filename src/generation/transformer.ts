import { ConfigError } from "../base/errors.ts";
import { type DecoderConfig, decoderSide, type EncoderDecoderConfig, kvHeadsOf } from "../models/config.ts";
import { keptOf } from "../models/continuation.ts";
import { decoderStep } from "../models/decoder.ts";
import { encoderDecoderSteps, keptSource } from "../models/encoder-decoder.ts";
import { type CompileOptions, compile } from "../runtime/compile.ts";
import { KeptRows } from "./kept-rows.ts";
import { count, memoryOf, refuseOver, refusePairs } from "./memory.ts";
import { integers, padded } from "./padded.ts";
import {
  type Arrival,
  type Beginning,
  checkPrompt,
  type Next,
  nextOf,
  notHere,
  type Prompt,
  type RowSize,
  type Speaker,
  type Speech,
  unread,
} from "./speech.ts";
import { type Parts, TransformerArrival, taps } from "./transformer-arrival.ts";

/** A decoder that keeps the keys and values of the tokens before: one session, whatever the number of rows and their lengths. */
export function decoderSpeaker(config: DecoderConfig, options: CompileOptions): Speaker {
  const kept = keptOf(config, "decoder");
  const step = compile(decoderStep(config), { ...options, symbols: "open", taps: kept.map(({ tap }) => tap) });
  const parts: Parts = {
    kept,
    heads: kvHeadsOf(config),
    longest: config.context,
    memory: memoryOf(config, options.device),
    step: (feeds) => step.run(feeds as never),
  };
  return {
    vocab: config.vocab,
    longest: config.context,
    check(prompt) {
      checkPrompt(prompt, config.vocab);
      refuseKept(parts, prompt);
    },
    fits: (rows, memory) => fits(parts, rows, memory),
    begin: () => new TransformerSpeech(parts),
    release: () => step.release(),
  };
}

/** An encoder–decoder: the encoder runs once for a source, the decoder goes on as a decoder does. */
export function encoderDecoderSpeaker(config: EncoderDecoderConfig, options: CompileOptions): Speaker {
  const side = decoderSide(config);
  const kept = keptOf(side, "model/decoder");
  const functions = encoderDecoderSteps(config);
  const encode = compile(functions.encode, { ...options, symbols: "open" });
  const step = compile(functions.next, { ...options, symbols: "open", taps: kept.map(({ tap }) => tap) });
  const parts: Parts = {
    kept,
    heads: kvHeadsOf(side),
    longest: config.context,
    memory: memoryOf({ ...config, heads: Math.max(config.heads, side.heads) }, options.device),
    step: (feeds) => step.run(feeds as never),
    source: { kept: keptSource(config), encode: (feeds) => encode.run(feeds as never) },
  };
  return {
    vocab: config.vocab,
    longest: config.context,
    check(prompt) {
      checkPrompt(prompt, config.vocab, config.sourceVocab ?? config.vocab);
      refusePairs("a source", prompt.source?.length ?? 0, parts.memory);
      refuseKept(parts, prompt);
    },
    fits: (rows, memory) => fits(parts, rows, memory),
    begin: () => new TransformerSpeech(parts),
    release: async () => {
      await encode.release();
      await step.release();
    },
  };
}

/** Bytes of all keys and values for one place of a row. */
const placeBytes = (kept: readonly { readonly size: number }[], heads: number): number =>
  4 * heads * kept.reduce((sum, { size }) => sum + size, 0);

function refuseKept({ kept, heads, memory }: Parts, { ids: { length } }: Prompt): void {
  const each = placeBytes(kept, heads);
  const sum = `${count(length)} × ${count(each)} bytes (keys and values)`;
  refuseOver(`what is kept of a prompt of ${count(length)} tokens takes`, sum, each * length, memory.all);
}

/** Rows have room for the longest of them. */
function fits({ kept, source, heads, memory }: Parts, rows: readonly RowSize[], bytes = memory.all): boolean {
  const most = (of: (row: RowSize) => number) => rows.reduce((found, row) => Math.max(found, of(row)), 0);
  const each = most(({ tokens }) => tokens) * placeBytes(kept, heads) + most((row) => row.source) * placeBytes(source?.kept ?? [], heads);
  return rows.length * each <= bytes;
}

class TransformerSpeech implements Speech {
  readonly #parts: Parts;
  readonly #own: KeptRows;
  readonly #source: KeptRows | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#own = new KeptRows(parts.kept, parts.heads, parts.longest);
    this.#source = parts.source && new KeptRows(parts.source.kept, parts.heads, parts.longest);
  }

  get lengths(): readonly number[] {
    return this.#own.lengths;
  }

  get bytes(): number {
    return this.#own.bytes + (this.#source?.bytes ?? 0);
  }

  async join(prompts: readonly Prompt[]): Promise<Next[]> {
    const arrival = this.arrive(prompts);
    while (arrival.left > 0) await arrival.read(Number.POSITIVE_INFINITY);
    return this.admit(arrival);
  }

  arrive(prompts: readonly Prompt[], beginnings?: readonly (Beginning | undefined)[]): TransformerArrival {
    return new TransformerArrival(this.#parts, prompts, beginnings);
  }

  admit(arrival: Arrival): Next[] {
    if (!(arrival instanceof TransformerArrival && arrival.parts === this.#parts)) throw new ConfigError(notHere);
    if (arrival.left > 0) throw new ConfigError(unread(arrival.left));
    const { lengths, sourceLengths } = arrival;
    // Room for all before anything is added: rows of the one without rows of the other would be somebody else's.
    this.#own.reserve(lengths.length, Math.max(0, ...lengths));
    this.#source?.reserve(lengths.length, Math.max(0, ...sourceLengths));
    this.#own.join(arrival.own, lengths);
    this.#source?.join(arrival.source, sourceLengths);
    return arrival.next;
  }

  async next(tokens: readonly number[]): Promise<Next[]> {
    const { kept, step } = this.#parts;
    const results = await step({
      ids: padded(tokens.map((token) => [token])),
      before: integers(this.lengths),
      last: integers(tokens.map(() => 0)),
      ...this.#own.views(),
      ...(this.#source && { ...this.#source.views(), lengths: integers(this.#source.lengths) }),
    });
    this.#own.append(
      taps(kept, results),
      tokens.map(() => 1),
    );
    return nextOf(results);
  }

  keep(rows: readonly number[]): void {
    this.#own.keep(rows);
    this.#source?.keep(rows);
  }
}
