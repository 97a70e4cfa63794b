import type { Pair } from "../text/examples.ts";

/** Pairs as a .jsonl file has them. */
export const jsonLines = (pairs: readonly Pair[]): string => pairs.map((pair) => `${JSON.stringify(pair)}\n`).join("");
