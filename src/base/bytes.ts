import { kernelBytes } from "./threefry.wasm.ts";

const pages = 16;
const atOnce = pages * 65_536;

/** Fills memory with pieces of random bytes, from the piece of a number on. */
type Fill = (key0: number, key1: number, first: number, count: number, into: number) => void;
interface Kernel {
  readonly blocks: Fill;
  readonly stretches: Fill;
  /** Turns so many bytes, a multiple of 16, into flags. */
  flags(least: number, count: number, at: number): void;
  readonly memory: Uint8Array;
}
let kernel: Kernel | undefined;

/** Dropout wants megabytes for each step, so these are made four blocks at a time, in WebAssembly. The bytes from a place on are those of all that come there. */
export const threefryBytes = (key0: number, key1: number, into: Uint8Array, from = 0, least?: number): void =>
  fill((...wanted) => (kernel as Kernel).blocks(key0, key1, ...wanted), { into, from, least, piece: 8, together: 4 });

/** Other bytes, of a generator that begins anew every 2,048 of them: about three times as fast, and good enough to drop by. */
export const quickBytes = (key0: number, key1: number, into: Uint8Array, from = 0, least?: number): void =>
  fill((...wanted) => (kernel as Kernel).stretches(key0, key1, ...wanted), { into, from, least, piece: 2048, together: 2 });

interface Wanted {
  readonly into: Uint8Array;
  readonly from: number;
  /** If it is given, flags are wanted in the place of bytes: 1 where a byte is at least so much. */
  readonly least: number | undefined;
  /** Bytes of a piece, and how many pieces are made together. */
  readonly piece: number;
  readonly together: number;
}

function fill(make: (first: number, count: number, into: number) => void, { into, from, least, piece, together }: Wanted): void {
  kernel ??= start();
  const most = atOnce / piece;
  const end = from + into.length;
  for (let first = Math.floor(from / piece); piece * first < end; first += most) {
    const some = Math.min(most, Math.ceil(end / piece) - first);
    const made = Math.ceil(some / together) * together;
    make(first, made, 0);
    if (least !== undefined) kernel.flags(least, piece * made, 0);
    const begin = Math.max(from, piece * first);
    into.set(kernel.memory.subarray(begin - piece * first, Math.min(piece * some, end - piece * first)), begin - from);
  }
}

function start(): Kernel {
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
  const code = Uint8Array.from(atob(kernelBytes), (c) => c.charCodeAt(0));
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } });
  const { blocks, stretches, flags } = exports as unknown as Kernel;
  return { blocks, stretches, flags, memory: new Uint8Array(memory.buffer) };
}
