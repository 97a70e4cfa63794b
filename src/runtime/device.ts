import { DataError } from "../base/errors.ts";
import type { Target } from "../graph/target.ts";
import type { Engine } from "./session.ts";

/** How weights are kept that are baked in: as they were trained, or rounded to 8 or 4 bits with a scale for every 32. */
export const precisions = ["f32", "q8", "q4"] as const;
export type Precision = (typeof precisions)[number];

/** What computes, and how. Everything that computes takes one; what is left out is the engine's own choice. */
export interface Device {
  readonly engine: Engine;
  /** How many threads one run may use. */
  readonly threads?: number;
  /** Of weights that are baked in; f32 if left out. What is trained is always f32. */
  readonly precision?: Precision;
  /** Bytes that may still be taken at this moment: what needs more is refused before anything is allocated. 4 GiB if left out. */
  readonly memory?: () => number;
}

/** From so many threads on, two passes that all of them share take less time than one that a single thread makes. */
const sharedFrom = 4;

/** Who models are written for: the engine of a device, and where there are many threads without what only one of them would do. */
export const targetOn = ({ engine, threads = sharedFrom }: Device): Target =>
  threads < sharedFrom
    ? engine
    : { name: engine.name, opset: engine.opset, can: (feature) => feature !== "byte-scales" && engine.can(feature) };

/** Bytes that may still be taken on a device. */
export const freeMemoryOf = ({ memory = () => 4 * 2 ** 30 }: Device): number => memory();

/** Less than this is never worth a question. */
const little = 2 ** 24;

/** Refuses what the device has no room for, with the arithmetic. */
export function refuseTooLarge(device: Device, bytes: number, arithmetic: () => string, cure: string): void {
  if (bytes > little) refuseAbove(freeMemoryOf(device), bytes, arithmetic, cure);
}

export function refuseAbove(memory: number, bytes: number, arithmetic: () => string, cure: string): void {
  if (bytes > memory)
    throw new DataError(`${arithmetic()} = ${gibibytes(bytes)}, and ${gibibytes(memory)} may be taken; ${cure}`, { code: "memory" });
}

const gibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toLocaleString("en", { maximumSignificantDigits: 3 })} GiB`;
