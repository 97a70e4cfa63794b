import type { Handle, Handles } from "../../src/web/storage/handle.ts";

// Handles in memory that can crash: what was not flushed is lost or kept, change by change, and torn at any byte. Nothing of this is a copy of our
// code; it is what a browser and its disk may do at worst.

type Change = { readonly at: number; readonly bytes: Uint8Array } | { readonly size: number };

/** Thrown by everything after the moment that was chosen. */
export class Crashed extends Error {}

export interface CrashPlan {
  /** How many writes, cuts and flushes happen before it. */
  readonly after: number;
}

class FakeHandle implements Handle {
  readonly #disk: FakeDisk;
  /** What a reader sees, and what is on the disk for certain. */
  #bytes: Uint8Array;
  #safe: Uint8Array;
  #changes: Change[] = [];

  constructor(disk: FakeDisk, bytes: Uint8Array) {
    this.#disk = disk;
    this.#bytes = bytes;
    this.#safe = bytes;
  }

  read(into: Uint8Array, at: number): number {
    const some = this.#bytes.subarray(at, at + into.length);
    into.set(some);
    return some.length;
  }

  write(from: Uint8Array, at: number): void {
    this.#disk.counted();
    this.#disk.allow(this, at + from.length);
    this.#change({ at, bytes: from.slice() });
  }

  truncate(size: number): void {
    this.#disk.counted();
    this.#change({ size });
  }

  size(): number {
    return this.#bytes.length;
  }

  flush(): void {
    this.#disk.counted();
    this.#disk.mayRefuse();
    this.#safe = this.#bytes;
    this.#changes = [];
  }

  close(): void {}

  /** What a crash leaves. */
  left(fate: () => number): Uint8Array {
    return this.#changes.reduce((bytes, change) => {
      const share = fate();
      if (share === 0) return bytes;
      if ("size" in change) return applied(bytes, change);
      return applied(bytes, { at: change.at, bytes: change.bytes.subarray(0, Math.ceil(change.bytes.length * share)) });
    }, this.#safe);
  }

  #change(change: Change): void {
    this.#changes.push(change);
    this.#bytes = applied(this.#bytes, change);
  }
}

function applied(bytes: Uint8Array, change: Change): Uint8Array {
  const size = "size" in change ? change.size : Math.max(bytes.length, change.at + change.bytes.length);
  const result = new Uint8Array(size);
  result.set(bytes.subarray(0, size));
  if ("at" in change) result.set(change.bytes, change.at);
  return result;
}

export class FakeDisk {
  #handles: FakeHandle[];
  #plan: CrashPlan | undefined;
  #count = 0;
  /** Bytes that it has in all. */
  quota = Number.POSITIVE_INFINITY;
  /** How many flushes go well before one is refused: nobody knows then what came to the disk. */
  refuseAfter = Number.POSITIVE_INFINITY;

  constructor() {
    this.#handles = [0, 1, 2].map(() => new FakeHandle(this, new Uint8Array(0)));
  }

  get handles(): Handles {
    const [a, b, data] = this.#handles;
    return { indexes: [a, b], data };
  }

  /** How many writes, cuts and flushes there were. */
  get count(): number {
    return this.#count;
  }

  plan(plan: CrashPlan): void {
    this.#plan = plan;
    this.#count = 0;
  }

  /** Whether that moment has come. */
  get crashed(): boolean {
    return this.#plan !== undefined && this.#count >= this.#plan.after;
  }

  /**
   * Afterwards: what is left, for whoever mounts next. `fate` says what becomes of each change that was not flushed: how much of it came to the disk,
   * from 0 (nothing) to 1.
   */
  crash(fate: () => number): void {
    this.#handles = this.#handles.map((handle) => new FakeHandle(this, handle.left(fate)));
    this.#plan = undefined;
    this.#count = 0;
  }

  /** The worker ended, and the machine did not: everything is there, and what was not flushed still is not. */
  end(): void {
    this.#plan = undefined;
    this.#count = 0;
  }

  counted(): void {
    if (this.crashed) throw new Crashed();
    this.#count++;
  }

  mayRefuse(): void {
    if (this.refuseAfter-- > 0) return;
    this.refuseAfter = Number.POSITIVE_INFINITY;
    throw new DOMException("the disk did not answer", "InvalidStateError");
  }

  get used(): number {
    return this.#handles.reduce((sum, handle) => sum + handle.size(), 0);
  }

  allow(handle: FakeHandle, size: number): void {
    const others = this.#handles.reduce((sum, one) => sum + (one === handle ? 0 : one.size()), 0);
    if (Math.max(size, handle.size()) + others > this.quota) throw new DOMException("there is no more room", "QuotaExceededError");
  }
}
