import { kvHeadsOf, type TransformerConfig } from "../models/config.ts";
import { headSizes } from "../models/continuation.ts";
import type { OwnModel } from "../models/own.ts";
import { type Device, freeMemoryOf, refuseAbove } from "../runtime/device.ts";

// What reading takes. Most of it are the scores of attention: a number for each head, query and key.

/** One run takes less, where it can: prompts of a few thousand tokens are read at once, longer ones in pieces. */
const usualRun = 2 * 2 ** 30;

export interface Memory {
  readonly all: number;
  readonly run: number;
  /** Of one layer's attention, for each query and key. */
  readonly pair: number;
}

export function memoryOf(config: TransformerConfig | OwnModel, device: Device): Memory {
  const all = freeMemoryOf(device);
  return { all, run: Math.min(all, usualRun), pair: pairBytes(config) };
}

/**
 * As measured: scores on their way to a pattern and a mix are there about four times, four more where distances are added to them, and
 * masks, once for each head of a group that shares its keys. Additive scores are as large as the keys on their way.
 */
function pairBytes(config: TransformerConfig | OwnModel): number {
  if ("settings" in config) return 4 * (4 * Number(config.settings.heads ?? 1) + 4); // by what such a model usually calls its heads
  const { heads, score, positions } = config;
  const scores = score === "additive" ? 3 * headSizes(config).key : 4;
  const distances = positions === "alibi" || positions === "relative" ? 4 : 0;
  return 4 * (heads * (scores + distances) + 3 + heads / kvHeadsOf(config));
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
  refuseAbove(memory, bytes, () => `${beginning} ${sum}`, "shorten it");
}

export const count = (value: number): string => value.toLocaleString("en");
