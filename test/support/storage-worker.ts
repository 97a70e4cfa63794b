import { closeSync, fsyncSync, openSync, readdirSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { QkvError } from "../../src/base/errors.ts";
import { Checkpoints } from "../../src/disk/checkpoints.ts";
import { filesHash, makeFolders, writeDurably } from "../../src/disk/files.ts";
import { lockRun } from "../../src/runs/folder.ts";
import { type MountedStorage, type MountOptions, mountStorage } from "../../src/web/storage/mount.ts";

// What a worker of a test does, bundled as a page gets it: it answers each message with what came of it.

const folder = "/runs/one/checkpoints";
let storage: MountedStorage | undefined;

/** A file of which every byte is known, in pieces. */
function piece(i: number): Uint8Array {
  const bytes = new Uint8Array(2 ** 22);
  for (let at = 0; at < bytes.length; at++) bytes[at] = i ^ at;
  return bytes;
}

const tasks = {
  async mount(options: MountOptions) {
    storage = await mountStorage(options);
    return { kept: storage.kept, reason: storage.reason, host: hostname(), estimate: await storage.estimate() };
  },
  close() {
    storage?.close();
  },
  /** Saves checkpoint after checkpoint, and says so after each; it never comes to an end. */
  async save({ bytes }: { readonly bytes: number }) {
    const checkpoints = new Checkpoints(folder);
    checkpoints.clean();
    makeFolders("/runs/one");
    lockRun("/runs/one"); // of a worker that is gone, however it went
    for (let step = 1 + (checkpoints.latest(() => {})?.step ?? 0); ; step++) {
      const weights = [new Uint8Array(bytes).fill(step), new TextEncoder().encode(`${step}`)];
      checkpoints.save(step, new Map([["weights.safetensors", weights]]));
      postMessage({ saved: step });
      checkpoints.prune(2);
    }
  },
  latest() {
    const warnings: string[] = [];
    const found = new Checkpoints(folder).latest((sentence) => warnings.push(sentence));
    const bytes = found?.read("weights.safetensors");
    const told = bytes && new TextDecoder().decode(bytes.subarray(-`${found?.step}`.length));
    return { step: found?.step ?? 0, told: Number(told ?? 0), warnings };
  },
  /** Writes so many pieces of 4 MB, and reads them back. */
  large({ pieces }: { readonly pieces: number }) {
    const file = openSync("/large.bin", "w");
    for (let i = 0; i < pieces; i++) writeSync(file, piece(i));
    fsyncSync(file);
    closeSync(file);
    writeDurably("/small.txt", "beside it");
    return { size: statSync("/large.bin").size };
  },
  check({ pieces }: { readonly pieces: number }) {
    const file = openSync("/large.bin", "r");
    const into = new Uint8Array(2 ** 22);
    let wrong = 0;
    for (let i = 0; i < pieces; i++) {
      readSync(file, into, 0, into.length, i * into.length);
      const wanted = piece(i);
      if (into.some((byte, at) => byte !== wanted[at])) wrong++;
    }
    closeSync(file);
    return { wrong, names: readdirSync("/"), hash: filesHash(["/small.txt"]) };
  },
  remove() {
    rmSync("/large.bin");
  },
};

export type Tasks = typeof tasks;
export type Told = {
  readonly value?: unknown;
  readonly failed?: { readonly code?: string; readonly message: string };
  readonly saved?: number;
};

addEventListener("message", async ({ data: [task, given] }: MessageEvent<[keyof Tasks, never]>) => {
  try {
    postMessage({ value: await tasks[task](given) } satisfies Told);
  } catch (error) {
    const message = error instanceof Error ? `${error.message}` : String(error);
    postMessage({ failed: { code: error instanceof QkvError ? error.code : undefined, message } } satisfies Told);
  }
});
