import { kernelBytes } from "./threefry.wasm.ts";

const pages = 16;
const blocksAtOnce = (pages * 65_536) / 8;

type Blocks = (key0: number, key1: number, first: number, count: number, into: number) => void;
let kernel: { readonly blocks: Blocks; readonly memory: Uint8Array } | undefined;

/** Dropout wants megabytes for each step, so these are made four blocks at a time, in WebAssembly. The bytes from a place on are those of all that come there. */
export function threefryBytes(key0: number, key1: number, into: Uint8Array, from = 0): void {
  kernel ??= start();
  const end = from + into.length;
  for (let block = Math.floor(from / 8); 8 * block < end; block += blocksAtOnce) {
    const some = Math.min(blocksAtOnce, Math.ceil(end / 8) - block);
    kernel.blocks(key0, key1, block, Math.ceil(some / 4) * 4, 0);
    const begin = Math.max(from, 8 * block);
    into.set(kernel.memory.subarray(begin - 8 * block, Math.min(8 * some, end - 8 * block)), begin - from);
  }
}

function start(): { blocks: Blocks; memory: Uint8Array } {
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
  const code = Uint8Array.from(atob(kernelBytes), (c) => c.charCodeAt(0));
  const { blocks } = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } }).exports as { blocks: Blocks };
  return { blocks, memory: new Uint8Array(memory.buffer) };
}
