import { emptyArray, type HostArray } from "../base/arrays.ts";
import { type DecoderConfig, decoderSide, type EncoderDecoderConfig, kvHeadsOf } from "../models/config.ts";
import { type Kept, keptOf } from "../models/continuation.ts";
import { decoderStep } from "../models/decoder.ts";
import { encoderDecoderSteps, keptSource } from "../models/encoder-decoder.ts";
import { type CompileOptions, compile } from "../runtime/compile.ts";
import type { Arrays } from "../runtime/session.ts";
import { KeptRows } from "./kept-rows.ts";
import { count, type Memory, memoryOf, pieceLength, refuseOver, refusePairs } from "./memory.ts";
import { integers, lengthsOf, longestOf, padded } from "./padded.ts";
import { checkPrompt, type Next, nextOf, type Prompt, type RowSize, type Speaker, type Speech } from "./speech.ts";

/** What runs: a step over new tokens, and for an encoder–decoder what it makes of sources. */
interface Parts {
  readonly kept: readonly Kept[];
  readonly heads: number;
  readonly longest: number;
  readonly memory: Memory;
  step(feeds: Arrays): Promise<Arrays>;
  readonly source?: { readonly kept: readonly { readonly input: string; readonly size: number }[]; encode(feeds: Arrays): Promise<Arrays> };
}

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
    fits: (rows) => fits(parts, rows),
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
    fits: (rows) => fits(parts, rows),
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
function fits({ kept, source, heads, memory }: Parts, rows: readonly RowSize[]): boolean {
  const most = (of: (row: RowSize) => number) => rows.reduce((found, row) => Math.max(found, of(row)), 0);
  const each = most(({ tokens }) => tokens) * placeBytes(kept, heads) + most((row) => row.source) * placeBytes(source?.kept ?? [], heads);
  return rows.length * each <= memory.all;
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

  async join(prompts: readonly Prompt[]): Promise<Next[]> {
    const lists = prompts.map(({ ids }) => Int32Array.from(ids));
    const sources = prompts.map(({ source }) => source ?? new Int32Array(0));
    const known = await this.#encoded(sources);
    const { next, kept } = await this.#read(lists, known, longestOf(sources));
    // Room for all before anything is added: rows of the one without rows of the other would be somebody else's.
    this.#own.reserve(lists.length, longestOf(lists));
    this.#source?.reserve(sources.length, longestOf(sources));
    this.#own.join(kept, lists.map(lengthOf));
    this.#source?.join(known, sources.map(lengthOf));
    return next;
  }

  async next(tokens: readonly number[]): Promise<Next[]> {
    const results = await this.#parts.step({
      ids: padded(tokens.map((token) => [token])),
      before: integers(this.lengths),
      last: integers(tokens.map(() => 0)),
      ...this.#own.views(),
      ...(this.#source && { ...this.#source.views(), lengths: integers(this.#source.lengths) }),
    });
    const one = tokens.map(() => 1);
    this.#own.append(this.#taps(results), one);
    return nextOf(results);
  }

  keep(rows: readonly number[]): void {
    this.#own.keep(rows);
    this.#source?.keep(rows);
  }

  /** What the decoder asks of sources: as many at once as a run has memory for. */
  async #encoded(sources: readonly Int32Array[]): Promise<Arrays> {
    const { source, heads, memory } = this.#parts;
    if (!source) return {};
    const atOnce = Math.max(1, Math.floor(memory.run / (memory.pair * longestOf(sources) ** 2)));
    const run = (some: readonly Int32Array[]) => source.encode({ source: padded(some), lengths: lengthsOf(some) });
    if (sources.length <= atOnce) return { ...(await run(sources)), lengths: lengthsOf(sources) };
    const all = new KeptRows(source.kept, heads, longestOf(sources));
    for (let first = 0; first < sources.length; first += atOnce) {
      const some = sources.slice(first, first + atOnce);
      all.join(await run(some), some.map(lengthOf));
    }
    return { ...all.views(), lengths: lengthsOf(sources) };
  }

  /** Reads rows of tokens: at once, or where that takes too much memory, in pieces, each of which sees what is kept of those before. */
  async #read(lists: readonly Int32Array[], known: Arrays, sourceTime: number): Promise<{ next: Next[]; kept: Arrays }> {
    const { kept, heads, memory } = this.#parts;
    const longest = longestOf(lists);
    const read = new KeptRows(kept, heads, longest);
    const next: Next[] = new Array(lists.length);
    for (let at = 0; at < longest; ) {
      const before = at === 0 ? 1 : read.places;
      const time = Math.min(longest - at, pieceLength(memory, lists.length, before + sourceTime));
      const pieces = lists.map((ids) => ids.subarray(at, at + time));
      const results = await this.#parts.step({
        ids: padded(pieces, time),
        before: integers(pieces.map(({ length }) => (length > 0 ? at : 0))), // a row that has ended runs along, at places that there are
        last: integers(pieces.map(({ length }) => Math.max(0, length - 1))),
        ...(at === 0 ? this.#nothingYet(lists.length) : read.views()),
        ...known,
      });
      if (time === longest) return { next: nextOf(results), kept: this.#taps(results) };
      const counts = pieces.map(lengthOf);
      if (at === 0) read.join(this.#taps(results), counts);
      else read.append(this.#taps(results), counts);
      for (const [i, said] of nextOf(results).entries()) if (counts[i] > 0) next[i] = said; // the last is that of the last token
      at += time;
    }
    return { next, kept: read.views() };
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

  /** Keys and values of new tokens, by the names of the inputs that take them. */
  #taps(results: Arrays): Arrays {
    return Object.fromEntries(this.#parts.kept.map(({ input, tap }) => [input, results[tap]]));
  }
}

const lengthOf = ({ length }: ArrayLike<number>): number => length;
