import { mounted, temporaryFolder } from "../storage/mounted.ts";

// What Node calls "node:os". A storage is the machine: it keeps its name, and whoever wrote into it before was here.

export const hostname = (): string => mounted().host;
export const homedir = (): string => "/home";
export const tmpdir = (): string => temporaryFolder;
export const availableParallelism = (): number => Math.max(1, navigator.hardwareConcurrency ?? 1);

export const cpus = (): { readonly model: string }[] => Array.from({ length: availableParallelism() }, () => ({ model: "page" }));

/** WebAssembly of 32 bits has no more, and pages are not told what the machine has. */
const mostMemory = 4 * 2 ** 30;
/** A browser tells gigabytes, if at all, and 8 at most; half of it is everybody else's. */
export const totalmem = (): number => ("deviceMemory" in navigator ? Number(navigator.deviceMemory) * 2 ** 30 : mostMemory);
export const freemem = (): number => Math.min(mostMemory, totalmem() / 2);
