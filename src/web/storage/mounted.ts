import { FileSystem } from "./file-system.ts";
import { OpenFiles } from "./open-files.ts";

// The one file system of this worker, which the stand-ins for Node's modules speak to. Until a storage is mounted it lies in memory.

export interface Mounted {
  readonly system: FileSystem;
  readonly files: OpenFiles;
  /** What this machine is called; a storage has a name of its own. */
  readonly host: string;
  /** Bytes that may still be written, as far as is known. */
  free(): number;
}

export const temporaryFolder = "/tmp";
export const now = (): number => performance.timeOrigin + performance.now();

export const mountedOn = (system: FileSystem, free: () => number = () => Number.MAX_SAFE_INTEGER): Mounted => ({
  system,
  files: new OpenFiles(system),
  host: system.volume?.host ?? "page",
  free,
});

let current: Mounted | undefined;

export function mounted(): Mounted {
  current ??= mountedOn(new FileSystem({ temporary: [temporaryFolder], now }));
  return current;
}

/** From now on everything goes to this one; what is open in another stays there. */
export function use(next: Mounted): void {
  current = next;
}
