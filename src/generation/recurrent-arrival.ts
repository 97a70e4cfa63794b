import { array, emptyArray, type HostArray } from "../base/arrays.ts";
import { ConfigError } from "../base/errors.ts";
import type { RnnConfig } from "../models/config.ts";
import { rnnStates } from "../models/rnn.ts";
import type { Arrays } from "../runtime/session.ts";
import { checkBeginning, ownPrompt } from "./beginnings.ts";
import { bytesOf } from "./kept-rows.ts";
import { lengthsOf, longestOf, padded, roundedLength } from "./padded.ts";
import { type Arrival, type Beginning, type Known, type Next, nextOf, type Prompt, type ReadingUse } from "./speech.ts";

/** A prompt is read in pieces of this length, since what is unrolled has a fixed one. */
const pieceLength = 32;

export type Step = (feeds: Arrays) => Promise<Arrays>;

export interface Parts {
  readonly config: RnnConfig;
  /** Over one new token, or over a piece of a prompt. */
  step(time: number): Step;
  encode(sourceTime: number): Step;
}

/** Some tokens more for every row, at most a piece. Where a row gets none, its state stays, and so do its scores. */
export async function goneOn(parts: Parts, kept: Arrays, pieces: readonly ArrayLike<number>[]): Promise<{ kept: Arrays; next: Next[] }> {
  const time = longestOf(pieces) === 1 ? 1 : pieceLength;
  const { scores, total, ...after } = await parts.step(time)({ ...kept, ids: padded(pieces, time), count: lengthsOf(pieces) });
  return { kept: { ...kept, ...after }, next: nextOf({ scores, total }) };
}

/** So many states are kept of a prompt, at the most, and at its end: of a longer one every second, fourth, … piece. */
const mostMoments = 64;

/** The states of all rows when each of them had read so many tokens. */
interface Moment {
  readonly states: Arrays;
  readonly at: readonly number[];
}

/** Prompts that are being read. What is known of them are the states at whole pieces, and at their ends. */
export class RnnArrival implements Arrival {
  readonly parts: Parts;
  readonly #prompts: readonly { readonly ids: Int32Array; readonly source?: Int32Array }[];
  readonly #beginnings: readonly (Beginning | undefined)[];
  #at: number[];
  #kept: Arrays | undefined;
  #next: Next[] = [];
  /** After every so many runs, from the first on. */
  #moments: Moment[] = [];
  #every = 1;
  #runs = 0;
  readonly #use: ReadingUse;

  constructor(
    parts: Parts,
    prompts: readonly Prompt[],
    beginnings: readonly (Beginning | undefined)[] = [],
    use: ReadingUse = "for others",
  ) {
    this.parts = parts;
    this.#use = use;
    this.#prompts = prompts.map(ownPrompt);
    this.#beginnings = prompts.map((_, i) => beginnings[i]);
    this.#at = this.#beginnings.map((one) => one?.tokens ?? 0);
    for (const [i, one] of this.#beginnings.entries()) if (one) checkBeginning(this.#prompts[i], one);
  }

  get lengths(): readonly number[] {
    return this.#prompts.map(({ ids }) => ids.length);
  }

  get left(): number {
    const unread = this.#prompts.reduce((sum, { ids }, i) => sum + ids.length - this.#at[i], 0);
    return this.#kept ? unread : unread + this.#unknown().reduce((sum, i) => sum + (this.#prompts[i].source?.length ?? 0), 0);
  }

  get bytes(): number {
    return bytesOfAll([...this.#moments.map(({ states }) => states), this.#kept ?? {}]);
  }

  get kept(): Arrays {
    return this.#kept ?? {};
  }

  get next(): Next[] {
    return this.#next;
  }

  async read(tokens: number): Promise<void> {
    if (this.#prompts.length === 0) return;
    const before = this.left;
    if (!this.#kept) {
      this.#kept = await this.#start();
      this.#remember(this.#kept);
    }
    let rest = tokens - (before - this.left); // without what the sources have
    while (rest > 0 && this.left > 0) {
      const pieces = this.#prompts.map(({ ids }, i) => ids.subarray(this.#at[i], nextBorder(this.#at[i])));
      const { kept, next } = await goneOn(this.parts, this.#kept, pieces);
      this.#kept = kept;
      this.#next = next;
      this.#at = this.#at.map((at, i) => at + pieces[i].length);
      this.#remember(kept);
      rest -= pieceLength * pieces.length;
      if (rest < pieceLength * pieces.length) return;
    }
  }

  known(): Known {
    const end = this.#kept && { states: this.#kept, at: this.#at };
    return new RnnKnown(this.parts, this.#prompts, end ? [...this.#moments, end] : this.#moments);
  }

  #remember(states: Arrays): void {
    if (this.#use === "for itself") return;
    if (this.#runs++ % this.#every === 0) this.#moments.push({ states, at: this.#at });
    if (this.#moments.length <= mostMoments) return;
    this.#moments = this.#moments.filter((_, i) => i % 2 === 0);
    this.#every *= 2;
  }

  /** Those of whom nothing was read before. */
  #unknown(): readonly number[] {
    return [...this.#prompts.keys()].filter((i) => !this.#beginnings[i]);
  }

  /** The states to begin with: zeros, what the encoder makes of the sources, or what others have come to. */
  async #start(): Promise<Arrays> {
    const unknown = this.#unknown();
    const fresh = unknown.length > 0 ? await this.#fresh(unknown) : {};
    if (unknown.length === this.#prompts.length) return fresh;
    return gathered(
      this.#beginnings.map((one, i) => (one ? knownTo(this.parts, one).states(one) : { arrays: fresh, row: unknown.indexOf(i) })),
    );
  }

  async #fresh(rows: readonly number[]): Promise<Arrays> {
    const { config, encode } = this.parts;
    if (config.task === "lm") {
      const zeros = () => array("float32", new Float32Array(rows.length * config.width), [rows.length, config.width]);
      return Object.fromEntries(rnnStates(config).map((name) => [name, zeros()]));
    }
    const sources = rows.map((i) => this.#prompts[i].source ?? new Int32Array(0));
    const time = roundedLength(longestOf(sources));
    const lengths = lengthsOf(sources);
    return { ...(await encode(time)({ source: padded(sources, time), lengths })), lengths };
  }
}

/** Pieces end at whole multiples, wherever a row begins: states are known there. */
const nextBorder = (at: number): number => (Math.floor(at / pieceLength) + 1) * pieceLength;

class RnnKnown implements Known {
  readonly parts: Parts;
  readonly prompts: readonly (Prompt | undefined)[];
  readonly #moments: readonly Moment[];
  readonly bytes: number;

  constructor(parts: Parts, prompts: readonly Prompt[], moments: readonly Moment[]) {
    this.parts = parts;
    this.#moments = moments;
    this.bytes = bytesOfAll(moments.map(({ states }) => states));
    this.prompts = prompts.map((prompt, row) => (moments.every(({ states }) => isFiniteRow(states, row)) ? prompt : undefined));
  }

  reach(prompt: number, tokens: number): number {
    return this.#last(prompt, tokens)?.at[prompt] ?? -1;
  }

  states({ prompt, tokens }: Beginning): Row {
    return { arrays: (this.#last(prompt, tokens) as Moment).states, row: prompt }; // the beginning was checked: there is one
  }

  #last(prompt: number, tokens: number): Moment | undefined {
    return this.#moments.findLast(({ at }) => at[prompt] <= tokens);
  }
}

function knownTo(parts: Parts, { known }: Beginning): RnnKnown {
  if (known instanceof RnnKnown && known.parts === parts) return known;
  throw new ConfigError("what another model has read is no beginning here; give each model prefixes of its own");
}

/** Some arrays are in several places, and there once. */
function bytesOfAll(all: readonly Arrays[]): number {
  const each = new Set(all.flatMap((arrays) => Object.values(arrays)));
  return bytesOf(Object.fromEntries([...each].map((one, i) => [`${i}`, one])));
}

function isFiniteRow(arrays: Arrays, row: number): boolean {
  return Object.values(arrays).every(({ shape, data }) => {
    const length = data.length / shape[0];
    for (let i = row * length; i < (row + 1) * length; i++) if (!Number.isFinite(Number(data[i]))) return false;
    return true;
  });
}

/** A row of some arrays. */
export interface Row {
  readonly arrays: Arrays;
  readonly row: number;
}

/** Rows from here and there, one after the other. Sources of different lengths get the longest one's room. */
export function gathered(rows: readonly Row[]): Arrays {
  return Object.fromEntries(
    Object.keys(rows[0].arrays).map((name) => [name, stacked(rows.map(({ arrays, row }) => ({ x: arrays[name], row })))]),
  );
}

/** [row, …] or [row, time, width]. */
function stacked(rows: readonly { readonly x: HostArray; readonly row: number }[]): HostArray {
  const { dtype } = rows[0].x;
  const inner = rows[0].x.shape.slice(1);
  if (inner.length === 2) inner[0] = rows.reduce((most, { x }) => Math.max(most, x.shape[1]), 0);
  const room = inner.reduce((size, axis) => size * axis, 1);
  const data = emptyArray(dtype, rows.length * room);
  for (const [i, { x, row }] of rows.entries()) {
    const length = x.data.length / x.shape[0];
    data.set(x.data.subarray(row * length, (row + 1) * length) as never, i * room);
  }
  return { dtype, shape: [rows.length, ...inner], data };
}
