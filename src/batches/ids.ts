/** Token ids in a row, read by position; they may lie in memory or in a file. */
export interface Ids {
  readonly length: number;
  /** Copies the ids from `at` on into `into`, as many as it holds. */
  read(at: number, into: Int32Array): void;
}

export const idsInMemory = (ids: Int32Array): Ids => ({
  length: ids.length,
  read: (at, into) => into.set(ids.subarray(at, at + into.length)),
});
