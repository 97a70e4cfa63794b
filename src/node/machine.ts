import { availableParallelism, freemem } from "node:os";

/** Bytes that a program may still take on this machine. */
export const freeMemory = (): number => (typeof process.availableMemory === "function" ? process.availableMemory() : freemem());

/** More threads than this rarely pay for small models. */
export const usualThreads = (): number => Math.min(8, availableParallelism());
