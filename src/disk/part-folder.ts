import { createHash, type Hash } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { RunError } from "../base/errors.ts";
import { Turns } from "../base/turns.ts";
import type { HubFile } from "../hub/repository.ts";
import { diskError, isAlive, makeFolders, readPieces } from "./files.ts";

// What has come of a download so far: a folder of files under their checksums, so that a part of one is never taken for a part of another.

export class PartFolder {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  place({ sum }: HubFile): string {
    return join(this.folder, sum.hex);
  }

  /** Bytes of a file that are here. */
  has(file: HubFile): number {
    return Math.min(file.bytes, statSync(this.place(file), { throwIfNoEntry: false })?.size ?? 0);
  }

  /** Nobody else may write here; gives back what lets go of it. A lock whose process is gone counts for nothing. */
  take(): () => void {
    const lock = join(this.folder, "lock");
    try {
      makeFolders(this.folder);
      const owner = lockOwner(lock);
      if (owner !== process.pid && isAlive(owner))
        throw new RunError(
          `process ${owner} is downloading to ${this.folder} at this moment; wait for it (if there is none, remove ${lock})`,
          { code: "run.busy" },
        );
      rmSync(lock, { force: true });
      writeFileSync(lock, String(process.pid), { flag: "wx" });
    } catch (error) {
      throw diskError(error, this.folder, "download to");
    }
    return () => rmSync(lock, { force: true });
  }

  /** Refuses what the disk has no room for, before hours of downloading. */
  refuseFull(files: readonly HubFile[]): void {
    const missing = files.reduce((sum, file) => sum + file.bytes - this.has(file), 0);
    const { bavail, bsize } = statfsSync(this.folder);
    const free = bavail * bsize;
    if (missing > free)
      throw new RunError(`the files have ${gigabytes(missing)} still to come, and the disk of ${this.folder} has ${gigabytes(free)} left`, {
        code: "run.disk",
      });
  }

  /** Puts a whole file into a folder under its own name; it stays here too, in case of a kill. */
  link(file: HubFile, folder: string): void {
    const to = join(folder, file.path);
    mkdirSync(dirname(to), { recursive: true });
    try {
      linkSync(this.place(file), to);
    } catch {
      copyFileSync(this.place(file), to); // a disk without links
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function lockOwner(lock: string): number {
  try {
    return Number(readFileSync(lock, "utf8"));
  } catch {
    return 0; // there is none
  }
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toLocaleString("en", { maximumSignificantDigits: 3 })} GB`;

/** A file that grows, and the checksum of what it has. */
export class GrowingFile {
  readonly #file: HubFile;
  readonly #path: string;
  readonly #handle: number;
  #hash: Hash;
  #size = 0;

  private constructor(file: HubFile, path: string, handle: number) {
    this.#file = file;
    this.#path = path;
    this.#handle = handle;
    this.#hash = begun(file);
  }

  /** Opens what is there of it. */
  static async open(file: HubFile, path: string): Promise<GrowingFile> {
    const handle = onDisk(path, () => openSync(path, "a+"));
    const growing = new GrowingFile(file, path, handle);
    try {
      await new Turns().through(
        readPieces(path, (piece) => {
          growing.#hash.update(piece);
          growing.#size += piece.length;
        }),
      );
    } catch (error) {
      growing.close();
      throw diskError(error, path, "read");
    }
    if (growing.#size > file.bytes) growing.empty();
    return growing;
  }

  get size(): number {
    return this.#size;
  }

  append(bytes: Uint8Array): void {
    onDisk(this.#path, () => {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#handle, bytes, at);
    });
    this.#hash.update(bytes);
    this.#size += bytes.length;
  }

  empty(): void {
    onDisk(this.#path, () => ftruncateSync(this.#handle, 0));
    this.#hash = begun(this.#file);
    this.#size = 0;
  }

  /** Whether it is what it should be. */
  get right(): boolean {
    return this.#size === this.#file.bytes && this.#hash.copy().digest("hex") === this.#file.sum.hex;
  }

  close(): void {
    closeSync(this.#handle);
  }
}

/** Git counts the size of a file as its beginning. */
function begun({ sum, bytes }: HubFile): Hash {
  return sum.kind === "sha256" ? createHash("sha256") : createHash("sha1").update(`blob ${bytes}\0`);
}

function onDisk<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw diskError(error, path, "write what comes to");
  }
}
