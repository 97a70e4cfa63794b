import { RunError } from "../../base/errors.ts";
import { FileSystem } from "./file-system.ts";
import { closeHandles } from "./handle.ts";
import { lockStorage } from "./lock.ts";
import { mountedOn, now, temporaryFolder, use } from "./mounted.ts";
import { openHandles, removeHandles } from "./opfs.ts";
import { Volume } from "./volume.ts";

export interface MountOptions {
  /** Pages of one site that give the same name have the same files. */
  readonly name?: string;
  /**
   * "kept": in the browser's own file system, or an error that says why not. "memory": gone with the worker. If left out, kept where
   * that can be had, and else in memory, with the reason told.
   */
  readonly storage?: "kept" | "memory";
  /** What another tab is told of this one: its title, what it does. */
  readonly who?: string;
}

export interface MountedStorage {
  /** Whether files outlive the worker. */
  readonly kept: boolean;
  /** Why they do not. */
  readonly reason?: string;
  /** Whether the browser has promised to keep them when its disk gets full; asked for by `askToPersist`, in the page. */
  readonly persisted: boolean;
  /** Bytes that this site has, and those that it may have at most; as the browser estimates them now. */
  estimate(): Promise<{ readonly usage: number; readonly quota: number }>;
  /** Gives room back to the browser that large files have left; it takes as long as moving others does. Mounting does it too. */
  compact(): void;
  /** Everything comes to the disk, and another worker may mount it. */
  close(): void;
}

/** From now on the files of this worker are those of a storage. Whatever was written before, in memory, is left behind. */
export async function mountStorage({ name = "qkv", storage, who = "" }: MountOptions = {}): Promise<MountedStorage> {
  if (!/^[\w-]{1,60}$/.test(name)) throw new RunError(`a storage is called by letters, digits, - and _, not "${name}"`);
  if (storage === "memory") return inMemory("it was asked for so");
  const reason = await missing();
  if (reason !== undefined) {
    if (storage === "kept") throw new RunError(`files cannot be kept here: ${reason}`, { code: "run.disk" });
    return inMemory(reason);
  }
  const release = await lockStorage(name, who || `since ${new Date().toLocaleTimeString()}`);
  try {
    const { volume, free } = await opened(name);
    use(mountedOn(new FileSystem({ volume, temporary: [temporaryFolder], now }), free));
    return {
      kept: true,
      persisted: await navigator.storage.persisted(),
      estimate,
      compact: () => volume.compact(),
      close() {
        volume.close();
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** Removes a storage with everything in it. */
export async function removeStorage(name = "qkv"): Promise<void> {
  const release = await lockStorage(name, "it is being removed");
  try {
    await removeHandles(folderOf(name));
  } finally {
    release();
  }
}

const folderOf = (name: string): string => `qkv-storage-${name}`;

async function opened(name: string): Promise<{ volume: Volume; free: () => number }> {
  const handles = await openHandles(folderOf(name));
  const host = `page-${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;
  let volume: Volume;
  try {
    volume = new Volume(handles, { host, now: now(), later: (work) => void setTimeout(work, 1000) });
    volume.compact();
  } catch (error) {
    closeHandles(handles);
    if (error instanceof RunError) throw error;
    throw new RunError("the browser gives this page no room to store anything; free some space, or clear the data of this site", {
      code: "run.disk",
      cause: error,
    });
  }
  let known = await estimate();
  const free = (): number => {
    void estimate().then((found) => {
      known = found;
    });
    return Math.max(0, known.quota - known.usage);
  };
  return { volume, free };
}

function inMemory(reason: string): MountedStorage {
  use(mountedOn(new FileSystem({ temporary: [temporaryFolder], now })));
  return { kept: false, reason, persisted: false, estimate, compact() {}, close() {} };
}

async function estimate(): Promise<{ usage: number; quota: number }> {
  const { usage = 0, quota = Number.MAX_SAFE_INTEGER } = (await navigator.storage?.estimate?.()) ?? {};
  return { usage, quota };
}

/** Why there is no file system to be had here. */
async function missing(): Promise<string | undefined> {
  if (!globalThis.isSecureContext) return "the page does not come from https:// or localhost, and browsers keep files only of those";
  if (typeof navigator.storage?.getDirectory !== "function" || typeof navigator.locks?.request !== "function")
    return "this browser has no file system for pages; a newer one has";
  if (typeof FileSystemFileHandle === "undefined" || !("createSyncAccessHandle" in FileSystemFileHandle.prototype))
    return "this browser lets a page write files only in a worker, or not at all; mount the storage in a worker of a newer one";
  try {
    await navigator.storage.getDirectory();
    return undefined;
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return `this browser keeps no files in this window (a private one keeps none): ${said}`;
  }
}
