import type { HostArray } from "../base/arrays.ts";

/** What one run of a model is fed, and how much of it is real. */
export interface Batch {
  readonly feeds: Readonly<Record<string, HostArray>>;
  /** Targets that count: a mean loss is a mean over these. */
  readonly targets: number;
  /** Tokens that are read, padding aside. */
  readonly tokens: number;
  /** Places in the batch, padding included. */
  readonly places: number;
  /** Which rows of a whole batch these are, where it is only a part of one. */
  readonly rows?: Rows;
}

export interface Rows {
  readonly first: number;
  readonly count: number;
}

/** One of several parts of a batch, which have as many rows as each other, or one more. */
export interface Slice {
  readonly part: number;
  readonly of: number;
}

/** All of it. */
export const wholeBatch: Slice = { part: 0, of: 1 };

export function rowsOf(rows: number, { part, of }: Slice): Rows {
  const first = Math.floor((rows * part) / of);
  return { first, count: Math.floor((rows * (part + 1)) / of) - first };
}

/** Batches by number. The same number always gives the same batch, so a run can go on anywhere. */
export interface Batches {
  /** How many batches see everything once. */
  readonly perEpoch: number;
  /** The batch of this number, or one part of it. */
  batch(index: number, slice?: Slice): Batch;
}

/** The target that does not count. */
export const ignored = -1;
