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
}

/** Batches by number. The same number always gives the same batch, so a run can go on anywhere. */
export interface Batches {
  /** How many batches see everything once. */
  readonly perEpoch: number;
  batch(index: number): Batch;
}

/** The target that does not count. */
export const ignored = -1;
