/** Where a row begins: its first tokens, and the source for a model that reads one. */
export interface Prompt {
  readonly ids: ArrayLike<number>;
  readonly source?: Int32Array;
}

/** A model that says what may come next. Its sessions are shared by everything that it says. */
export interface Speaker {
  readonly vocab: number;
  /** The most tokens that a row may have. */
  readonly longest: number;
  begin(): Speech;
  release(): Promise<void>;
}

/** Rows of tokens that go on together, each at its own length. Rows can join and leave between tokens. */
export interface Speech {
  /** How many tokens each row has. */
  readonly lengths: readonly number[];
  /** Adds a row for each prompt, after those there are, and reads all prompts in one run. Gives the scores of each one's next token. */
  join(prompts: readonly Prompt[]): Promise<Float32Array[]>;
  /** Adds a token to every row. Gives the scores of each row's next. */
  next(tokens: readonly number[]): Promise<Float32Array[]>;
  /** Goes on with these rows, in this order. A row may be taken more than once, as beams do, or left out. */
  keep(rows: readonly number[]): void;
}

/** The rows of an array [row, …], not copied. */
export function rowsOf({ data }: { readonly data: ArrayLike<unknown> }, count: number): Float32Array[] {
  const length = data.length / count;
  return Array.from({ length: count }, (_, i) => (data as Float32Array).subarray(i * length, (i + 1) * length));
}

export const isIdentity = (rows: readonly number[], count: number): boolean => rows.length === count && rows.every((row, i) => row === i);
