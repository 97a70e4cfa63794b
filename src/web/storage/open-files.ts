import type { FileSystem } from "./file-system.ts";
import { asSystemError, SystemError } from "./system-error.ts";
import type { File, Node } from "./tree.ts";

// Files that are open, by their numbers.

interface Open {
  readonly node: Node;
  readonly path: string;
  readonly reads: boolean;
  readonly writes: boolean;
  readonly appends: boolean;
  position: number;
}

/** What a file may be opened for, as Node names it. */
export type Flags = "r" | "r+" | "w" | "w+" | "wx" | "wx+" | "a" | "a+" | "ax" | "ax+";

/** A stretch of a file goes at most so far in one call, as in other systems. */
const largestCall = 2 ** 31 - 4096;

export class OpenFiles {
  readonly #system: FileSystem;
  readonly #open = new Map<number, Open>();
  #next = 3; // those below it mean something else elsewhere

  constructor(system: FileSystem) {
    this.#system = system;
  }

  open(path: string, flags: Flags): number {
    const [kind] = flags;
    const writes = flags !== "r";
    const node = this.#system.file(path, { create: kind !== "r", alone: flags.includes("x") });
    if (node.kind === "folder" && writes) throw new SystemError("EISDIR", "open", path);
    if (node.kind === "file") {
      node.open++;
      if (kind === "w" && node.content.size > 0) {
        node.content.resize(0);
        node.modified = this.#system.time();
      }
    }
    const reads = kind === "r" || flags.includes("+");
    const descriptor = this.#next++;
    this.#open.set(descriptor, { node, path, reads, writes, appends: kind === "a", position: 0 });
    return descriptor;
  }

  close(descriptor: number): void {
    const { node } = this.#of(descriptor, "close");
    this.#open.delete(descriptor);
    if (node.kind === "folder") return;
    node.open--;
    this.#system.letGo(node);
  }

  /** Without a place it reads where it stopped. */
  read(descriptor: number, into: Uint8Array, at: number | null): number {
    const open = this.#of(descriptor, "read");
    if (!open.reads) throw new SystemError("EBADF", "read");
    if (open.node.kind === "folder") throw new SystemError("EISDIR", "read");
    const { content } = open.node;
    const count = onHandle("read", () => content.read(into.subarray(0, largestCall), at ?? open.position));
    if (at === null) open.position += count;
    return count;
  }

  write(descriptor: number, from: Uint8Array, at: number | null): number {
    const open = this.#of(descriptor, "write");
    if (!open.writes) throw new SystemError("EBADF", "write");
    const file = open.node as File;
    const place = open.appends ? file.content.size : (at ?? open.position);
    const some = from.subarray(0, largestCall);
    if (some.length === 0) return 0; // which moves nothing, also not to the end
    onHandle("write", () => file.content.write(some, place));
    file.modified = this.#system.time();
    if (at === null) open.position = place + some.length;
    return some.length;
  }

  truncate(descriptor: number, size: number): void {
    const { node, writes } = this.#of(descriptor, "ftruncate");
    if (!writes || node.kind === "folder" || size < 0) throw new SystemError("EINVAL", "ftruncate");
    onHandle("ftruncate", () => node.content.resize(size));
    node.modified = this.#system.time();
  }

  sync(descriptor: number): void {
    const { node } = this.#of(descriptor, "fsync");
    if (node.kind === "folder") this.#system.syncFolder(node);
    else this.#system.syncFile(node);
  }

  node(descriptor: number, syscall: string): Node {
    return this.#of(descriptor, syscall).node;
  }

  #of(descriptor: number, syscall: string): Open {
    const open = this.#open.get(descriptor);
    if (open === undefined) throw new SystemError("EBADF", syscall);
    return open;
  }
}

function onHandle<Result>(syscall: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw asSystemError(error, syscall);
  }
}
