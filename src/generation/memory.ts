import { DataError } from "../base/errors.ts";
import type { TransformerConfig } from "../models/config.ts";
import { headSizes } from "../models/continuation.ts";
import type { CompileOptions } from "../runtime/compile.ts";

// What reading takes. Most of it are the scores of attention: a number for each head, query and key.

export interface SpeakerOptions extends CompileOptions {
  /**
   * Bytes that reading and keeping may take beside the weights; 4 GiB if left out. What takes more and cannot be read in pieces is
   * refused, and requests whose rows cannot be kept together wait for each other.
   */
  readonly memory?: number;
}

export const usualMemory = 4 * 2 ** 30;

/** One run takes less, where it can: prompts of a few thousand tokens are read at once, longer ones in pieces. */
const usualRun = 2 * 2 ** 30;

export interface Memory {
  readonly all: number;
  readonly run: number;
  /** Of one layer's attention, for each query and key. */
  readonly pair: number;
}

export function memoryOf(config: TransformerConfig, { memory = usualMemory }: SpeakerOptions): Memory {
  return { all: memory, run: Math.min(memory, usualRun), pair: pairBytes(config) };
}

/**
 * As measured: scores on their way to a pattern and a mix are there about four times, four more where distances are added to them, and
 * masks. Additive scores are as large as the keys on their way.
 */
function pairBytes(config: TransformerConfig): number {
  const { heads, score, positions } = config;
  const scores = score === "additive" ? 3 * headSizes(config).key : 4;
  const distances = positions === "alibi" || positions === "relative" ? 4 : 0;
  return 4 * (heads * (scores + distances) + 4);
}

/** How many new tokens are read at once after so many: the largest t with rows · t · (before + t) pairs in the memory of a run, or 1. */
export function pieceLength({ run, pair }: Memory, rows: number, before: number): number {
  return Math.max(1, Math.floor((Math.sqrt(before ** 2 + (4 * run) / (rows * pair)) - before) / 2));
}

/** Refuses what cannot be read in pieces and takes more than there is, with the arithmetic. What each token takes besides may be counted too. */
export function refusePairs(what: string, tokens: number, { all, pair }: Memory, perToken = 0): void {
  const pairs = `${count(tokens)}² pairs of tokens × ${count(pair)} bytes (scores of attention)`;
  const more = perToken > 0 ? ` + ${count(tokens)} × ${count(perToken)} bytes (scores of the vocabulary)` : "";
  const bytes = pair * tokens ** 2 + perToken * tokens;
  refuseOver(`${what} of ${count(tokens)} tokens cannot be read in pieces, and at once it takes`, pairs + more, bytes, all);
}

export function refuseOver(beginning: string, sum: string, bytes: number, memory: number): void {
  if (bytes > memory)
    throw new DataError(
      `${beginning} ${sum} = ${gigabytes(bytes)}, but ${gigabytes(memory)} may be used; shorten it, or allow more memory`,
    );
}

export const count = (value: number): string => value.toLocaleString("en");
const gigabytes = (bytes: number): string => `${(bytes / 2 ** 30).toLocaleString("en", { maximumSignificantDigits: 3 })} GiB`;
