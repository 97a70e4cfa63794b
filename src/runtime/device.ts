import type { Engine } from "./session.ts";

/** How weights are kept that are baked in: as they were trained, or rounded to 8 or 4 bits with a scale for every 32. */
export const precisions = ["f32", "q8", "q4"] as const;
export type Precision = (typeof precisions)[number];

/** What computes, and how. Everything that computes takes one; what is left out is the engine's own choice. */
export interface Device {
  readonly engine: Engine;
  /** Execution providers of the engine, the one that is wished for most first. */
  readonly providers?: readonly string[];
  /** How many threads one run may use. */
  readonly threads?: number;
  /** Of weights that are baked in; f32 if left out. What is trained is always f32. */
  readonly precision?: Precision;
  /** Bytes that one computation may take; what would take more is refused before anything is allocated. 4 GiB if left out. */
  readonly memory?: number;
}

/** What a computation may take where a device does not say it. */
export const usualMemory = 4 * 2 ** 30;
