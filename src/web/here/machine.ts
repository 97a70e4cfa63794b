import { freeMemoryOf } from "../../runtime/device.ts";
import { settled } from "./devices.ts";

// What the machine has, in the place of src/node/machine.ts.

/** Bytes that may still be taken. */
export const freeMemory = (): number => freeMemoryOf(settled().cpu);

/** As many as WebAssembly was loaded with. */
export const usualThreads = (): number => settled().cpu.threads ?? 1;
