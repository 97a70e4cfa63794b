// What may be written at all, for answers of a given form (JSON, say).

/** Follows one answer, token by token, and says what may come next. It belongs to one request. */
export interface Constraint {
  /** The tokens that may come next, a bit for each: bit `id & 31` of word `id >> 5`. One that ends the text is among them where it may end. */
  allowed(): Promise<Int32Array>;
  /** This token was chosen; it was allowed. */
  accept(token: number): void;
  /** Gives back what it holds, once: nothing is asked of it after that. */
  release(): void;
}
