import { ConfigError } from "../base/errors.ts";
import type { Arrays } from "../runtime/session.ts";

/** Where a row begins: its first tokens, and the source for a model that reads one. */
export interface Prompt {
  readonly ids: ArrayLike<number>;
  readonly source?: Int32Array;
}

/** What a model says of a row's next token: a score for each in the vocabulary, and log Σ exp of the scores. Log-probability = score − total. */
export interface Next {
  readonly scores: Float32Array;
  readonly total: number;
}

/** How many tokens a row has, and its source. */
export interface RowSize {
  readonly tokens: number;
  readonly source: number;
}

/** A model that says what may come next. Its sessions are shared by everything that it says. */
export interface Speaker {
  readonly vocab: number;
  /** The most tokens that a row may have. */
  readonly longest: number;
  /** Refuses a prompt that cannot be read, or not be gone on with for so many tokens, before anything is computed. Without it, any may be tried. */
  check?(prompt: Prompt, tokens: number): void;
  /** Whether there is memory for rows that come to have these sizes: what the device has, or so many bytes. Without it, there always is. */
  fits?(rows: readonly RowSize[], memory?: number): boolean;
  begin(): Speech;
  release(): Promise<void>;
}

/** Rows of tokens that go on together, each at its own length. Rows can join and leave between tokens. */
export interface Speech {
  /** How many tokens each row has. */
  readonly lengths: readonly number[];
  /** What is kept of all rows takes so much. */
  readonly bytes?: number;
  /**
   * Adds a row for each prompt, after those there are, and reads all prompts together. Gives the scores of each one's next token. If it
   * fails, the rows are what they were.
   */
  join(prompts: readonly Prompt[]): Promise<Next[]>;
  /** Adds a token to every row. Gives the scores of each row's next. */
  next(tokens: readonly number[]): Promise<Next[]>;
  /** Goes on with these rows, in this order. A row may be taken more than once, as beams do, or left out. */
  keep(rows: readonly number[]): void;
  /**
   * Prompts that are read a piece at a time, while rows go on: nothing of it touches the rows. Some may begin with what was read of others.
   * What is read for itself, and not for others that begin alike, need not be known after it. Speeches that can do only all at once have
   * neither this nor `admit`.
   */
  arrive?(prompts: readonly Prompt[], beginnings?: readonly (Beginning | undefined)[], use?: ReadingUse): Arrival;
  /** Adds the rows of an arrival of the same speaker that is read, as `join` does; this speech need not be the one that it came to. */
  admit?(arrival: Arrival): Next[];
}

/** Whether anybody will ask what is known of prompts; he may, if it is left out. */
export type ReadingUse = "for others" | "for itself";

/** Prompts on their way in. */
export interface Arrival {
  /** How many tokens are still to be read, sources included. */
  readonly left: number;
  readonly bytes: number;
  /** Reads on: one piece of about so many tokens at most, over all prompts, and one for each prompt at least. A source cannot be cut. */
  read(tokens: number): Promise<void>;
  /** What is known of the prompts when all is read, or as little as there is of what was read for itself: nothing is copied, and nothing of it changes any more. */
  known(): Known;
}

/** Prompts that were read together, for others that begin alike. */
export interface Known {
  /** None in the place of one whose numbers are not finite. */
  readonly prompts: readonly (Prompt | undefined)[];
  /** All prompts together: none of them goes before the others. */
  readonly bytes: number;
  /** How many of the first so many tokens of a prompt can be taken over: all of them, or where only some states are known, fewer. −1 for nothing, not even its source. */
  reach(prompt: number, tokens: number): number;
}

/** Where a prompt begins that has its first tokens, or at least its source, in common with one that is known. */
export interface Beginning {
  readonly known: Known;
  readonly prompt: number;
  readonly tokens: number;
}

/** Refuses a prompt with nothing to read, or with ids that are not in the vocabulary: of its own tokens, and of a source for a model that reads one. */
export function checkPrompt({ ids, source }: Prompt, vocab: number, sourceVocab?: number): void {
  checkIds("prompt", ids, vocab);
  if (sourceVocab !== undefined) checkIds("source", source ?? [], sourceVocab);
}

function checkIds(what: string, ids: ArrayLike<number>, vocab: number): void {
  if (ids.length === 0) throw new ConfigError(`there is no token in the ${what}; give at least one`);
  for (let i = 0; i < ids.length; i++)
    if (!(Number.isInteger(ids[i]) && ids[i] >= 0 && ids[i] < vocab))
      throw new ConfigError(`the token id ${ids[i]} is not in the vocabulary, which goes from 0 to ${vocab - 1}`);
}

/** What a run gives for its rows, taken apart and not copied. */
export function nextOf({ scores, total }: Arrays): Next[] {
  const [rows, vocab] = scores.shape;
  return Array.from({ length: rows }, (_, i) => ({
    scores: (scores.data as Float32Array).subarray(i * vocab, (i + 1) * vocab),
    total: Number(total.data[i]),
  }));
}

export const isIdentity = (rows: readonly number[], count: number): boolean => rows.length === count && rows.every((row, i) => row === i);

export const notHere = "these prompts were read by another model, whose keys and values say nothing here";

export const unread = (tokens: number): string => `${tokens} tokens of these prompts are still to be read; they join after that`;
