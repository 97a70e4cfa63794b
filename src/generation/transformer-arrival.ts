import { emptyArray, type HostArray } from "../base/arrays.ts";
import { ConfigError } from "../base/errors.ts";
import type { Kept } from "../models/continuation.ts";
import type { Arrays } from "../runtime/session.ts";
import { checkBeginning, ownPrompt } from "./beginnings.ts";
import { bytesOf, finiteRow, KeptRows } from "./kept-rows.ts";
import { type Memory, pieceLength } from "./memory.ts";
import { integers, lengthsOf, longestOf, padded } from "./padded.ts";
import { type Arrival, type Beginning, type Known, type Next, nextOf, type Prompt } from "./speech.ts";

/** What runs: a step over new tokens, and for an encoder–decoder what it makes of sources. */
export interface Parts {
  readonly kept: readonly Kept[];
  readonly heads: number;
  readonly longest: number;
  readonly memory: Memory;
  step(feeds: Arrays): Promise<Arrays>;
  readonly source?: { readonly kept: readonly { readonly input: string; readonly size: number }[]; encode(feeds: Arrays): Promise<Arrays> };
}

/** Keys and values of new tokens, by the names of the inputs that take them. */
export const taps = (kept: readonly Kept[], results: Arrays): Arrays =>
  Object.fromEntries(kept.map(({ input, tap }) => [input, results[tap]]));

/** Prompts that are being read: at once, or in pieces, each of which sees what is kept of those before. Every row is at its own place. */
export class TransformerArrival implements Arrival {
  readonly parts: Parts;
  readonly #prompts: readonly { readonly ids: Int32Array; readonly source?: Int32Array }[];
  readonly #sources: readonly Int32Array[];
  readonly #beginnings: readonly (Beginning | undefined)[];
  /** How many tokens of each are read. */
  #at: number[];
  /** What is kept of them. */
  readonly #read: KeptRows;
  /** The same as a run gave it, if there was only one. */
  #atOnce: Arrays | undefined;
  #encoded: Arrays | undefined;
  readonly #next: Next[];

  constructor(parts: Parts, prompts: readonly Prompt[], beginnings: readonly (Beginning | undefined)[] = []) {
    this.parts = parts;
    this.#prompts = prompts.map(ownPrompt);
    this.#sources = this.#prompts.map(({ source }) => source ?? new Int32Array(0));
    this.#beginnings = prompts.map((_, i) => beginnings[i]);
    this.#at = this.#beginnings.map((one) => one?.tokens ?? 0);
    this.#next = new Array(prompts.length);
    this.#read = new KeptRows(parts.kept, parts.heads, longestOf(this.#lists));
    if (!parts.source) this.#encoded = {};
    for (const [i, one] of this.#beginnings.entries()) if (one) checkBeginning(this.#prompts[i], one);
    if (this.#at.every((at) => at === 0)) return;
    this.#read.reserve(prompts.length, Math.max(...this.#at));
    for (const [i, one] of this.#beginnings.entries())
      this.#read.join(one ? knownTo(parts, one).own : {}, [this.#at[i]], [one?.prompt ?? 0]);
  }

  get #lists(): readonly Int32Array[] {
    return this.#prompts.map(({ ids }) => ids);
  }

  get lengths(): readonly number[] {
    return this.#lists.map(({ length }) => length);
  }

  get sourceLengths(): readonly number[] {
    return this.#sources.map(({ length }) => length);
  }

  get left(): number {
    const unread = this.#lists.reduce((sum, { length }, i) => sum + length - this.#at[i], 0);
    return this.#encoded ? unread : unread + this.#unknown().reduce((sum, i) => sum + this.#sources[i].length, 0);
  }

  get bytes(): number {
    return this.#read.bytes + bytesOf(this.#atOnce) + bytesOf(this.#encoded);
  }

  /** Keys and values of the prompts, and of their sources. */
  get own(): Arrays {
    return this.#atOnce ?? this.#read.views();
  }

  get source(): Arrays {
    return this.#encoded ?? {};
  }

  get next(): Next[] {
    return [...this.#next];
  }

  async read(tokens: number): Promise<void> {
    if (this.#prompts.length === 0) return;
    const before = this.left;
    this.#encoded ??= await this.#encode();
    const rest = tokens - (before - this.left); // without what the sources have
    if (rest > 0 && this.left > 0) await this.#readPiece(rest);
  }

  known(): Known {
    return new TransformerKnown(this.parts, this.#prompts, this.own, this.parts.source && this.source, this.bytes);
  }

  /** Those whose source was not read before. */
  #unknown(): readonly number[] {
    return [...this.#sources.keys()].filter((i) => !this.#beginnings[i]);
  }

  /** What the decoder asks of sources: as many at once as a run has memory for. */
  async #encode(): Promise<Arrays> {
    const { source, heads, memory } = this.parts;
    if (!source) return {};
    const unknown = this.#unknown();
    const lengths = lengthsOf(this.#sources);
    const atOnce = Math.max(1, Math.floor(memory.run / (memory.pair * longestOf(unknown.map((i) => this.#sources[i])) ** 2)));
    const run = (some: readonly Int32Array[]) => source.encode({ source: padded(some), lengths: lengthsOf(some) });
    if (unknown.length === this.#sources.length && unknown.length <= atOnce) return { ...(await run(this.#sources)), lengths };
    const found: { arrays: Arrays; row: number }[] = new Array(this.#sources.length);
    for (let first = 0; first < unknown.length; first += atOnce) {
      const some = unknown.slice(first, first + atOnce);
      const arrays = await run(some.map((i) => this.#sources[i]));
      for (const [row, i] of some.entries()) found[i] = { arrays, row };
    }
    for (const [i, one] of this.#beginnings.entries())
      if (one) found[i] = { arrays: knownTo(this.parts, one).source ?? {}, row: one.prompt };
    const all = new KeptRows(source.kept, heads, longestOf(this.#sources));
    all.reserve(found.length, longestOf(this.#sources));
    for (const [i, { arrays, row }] of found.entries()) all.join(arrays, [this.#sources[i].length], [row]);
    return { ...all.views(), lengths };
  }

  async #readPiece(tokens: number): Promise<void> {
    const { kept, memory } = this.parts;
    const rows = this.#prompts.length;
    const isFirst = this.#read.lengths.length === 0;
    const left = Math.max(...this.#lists.map(({ length }, i) => length - this.#at[i]));
    const before = (isFirst ? 1 : this.#read.places) + longestOf(this.#sources);
    const time = Math.min(left, Math.max(1, Math.floor(tokens / rows)), pieceLength(memory, rows, before));
    const pieces = this.#lists.map((ids, i) => ids.subarray(this.#at[i], this.#at[i] + time));
    const results = await this.parts.step({
      ids: padded(pieces, time),
      before: integers(pieces.map(({ length }, i) => (length > 0 ? this.#at[i] : 0))), // a row that has ended runs along, at places that there are
      last: integers(pieces.map(({ length }) => Math.max(0, length - 1))),
      ...(isFirst ? this.#nothingYet() : this.#read.views()),
      ...this.#encoded,
    });
    const counts = pieces.map(({ length }) => length);
    if (isFirst && time === left) this.#atOnce = taps(kept, results);
    else if (isFirst) this.#read.join(taps(kept, results), counts);
    else this.#read.append(taps(kept, results), counts);
    for (const [i, said] of nextOf(results).entries()) if (counts[i] > 0) this.#next[i] = said; // the last is that of the last token
    this.#at = this.#at.map((at, i) => at + counts[i]);
  }

  /** A past of one place that nobody sees: products over nothing are not to be relied on. */
  #nothingYet(): Arrays {
    const { kept, heads } = this.parts;
    const rows = this.#prompts.length;
    const empty = (size: number): HostArray => ({
      dtype: "float32",
      shape: [rows, heads, 1, size],
      data: emptyArray("float32", rows * heads * size),
    });
    return Object.fromEntries(kept.map(({ input, size }) => [input, empty(size)]));
  }
}

/** Keys and values of prompts, and of their sources, as an arrival has left them. */
class TransformerKnown implements Known {
  readonly parts: Parts;
  readonly own: Arrays;
  readonly source: Arrays | undefined;
  readonly prompts: readonly (Prompt | undefined)[];
  readonly bytes: number;

  constructor(parts: Parts, prompts: readonly Prompt[], own: Arrays, source: Arrays | undefined, bytes: number) {
    this.parts = parts;
    this.own = own;
    this.source = source;
    this.bytes = bytes;
    const isWell = ({ ids, source: from }: Prompt, row: number) =>
      finiteRow(own, parts.kept, row, ids.length) && (!source || finiteRow(source, parts.source?.kept ?? [], row, from?.length ?? 0));
    this.prompts = prompts.map((prompt, row) => (isWell(prompt, row) ? prompt : undefined));
  }

  reach(_: number, tokens: number): number {
    return tokens;
  }
}

function knownTo(parts: Parts, { known }: Beginning): TransformerKnown {
  if (known instanceof TransformerKnown && known.parts === parts) return known;
  throw new ConfigError("what another model has read is no beginning here; give each model prefixes of its own");
}
