import type { Example } from "../text/examples.ts";
import { splitByHash } from "../text/split.ts";

/** Shares of the examples; the rest is trained on. */
export interface HeldBack {
  readonly valid: number;
  readonly test: number;
}

export interface Parts<E> {
  readonly train: E[];
  readonly valid: E[];
  readonly test: E[];
}

/** Each example once, in the part that a stable hash of its input says: equal inputs stay together, whatever the order. */
export function inParts<E extends Example>(examples: readonly E[], { valid, test }: HeldBack): Parts<E> {
  const { train, valid: held } = splitByHash(examples, valid + test);
  const inner = splitByHash(held, test); // an input has the same hash again: these are below `test` of those below the sum
  return { train, valid: inner.train, test: inner.valid };
}
