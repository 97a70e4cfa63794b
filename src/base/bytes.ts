import { kernelBytes } from "./threefry.wasm.ts";

const pages = 16;
const blocksAtOnce = (pages * 65_536) / 8;

type Blocks = (key0: number, key1: number, first: number, count: number, into: number) => void;
let kernel: { readonly blocks: Blocks; readonly memory: Uint8Array } | undefined;

/** Dropout wants megabytes for each step, so these are made four blocks at a time, in WebAssembly. */
export function threefryBytes(key0: number, key1: number, into: Uint8Array): void {
  kernel ??= start();
  const count = Math.ceil(into.length / 8);
  for (let first = 0; first < count; first += blocksAtOnce) {
    const some = Math.min(blocksAtOnce, count - first);
    kernel.blocks(key0, key1, first, Math.ceil(some / 4) * 4, 0);
    into.set(kernel.memory.subarray(0, Math.min(8 * some, into.length - 8 * first)), 8 * first);
  }
}

function start(): { blocks: Blocks; memory: Uint8Array } {
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
  const code = Uint8Array.from(atob(kernelBytes), (c) => c.charCodeAt(0));
  const { blocks } = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } }).exports as { blocks: Blocks };
  return { blocks, memory: new Uint8Array(memory.buffer) };
}
