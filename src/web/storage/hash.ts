import { kernelBytes } from "./hash.wasm.ts";

// Hashes that are computed at once and piece by piece, which the browser's own cannot do. In WebAssembly: a checkpoint is hashed whenever it is
// written and whenever it is read.

const blockBytes = 64;
/** Where bytes are put for the kernel, and how many at a time. */
const input = 1024;
const inputBytes = 2 ** 16;

type Kind = "sha256" | "sha1";
type Kernel = (from: number, count: number) => void;
interface Kernels {
  readonly run: Readonly<Record<Kind, Kernel>>;
  readonly memory: Uint8Array;
  readonly state: Uint32Array;
}

let kernels: Kernels | undefined;

function start(): Kernels {
  const memory = new WebAssembly.Memory({ initial: 2, maximum: 2 });
  const code = Uint8Array.from(atob(kernelBytes), (c) => c.charCodeAt(0));
  const run = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } }).exports as unknown as Readonly<
    Record<Kind, Kernel>
  >;
  new Uint32Array(memory.buffer, 0, 64).set(primes(64).map((prime) => fraction(Math.cbrt(prime))));
  return { run, memory: new Uint8Array(memory.buffer), state: new Uint32Array(memory.buffer, 256, 8) };
}

/** The first 32 bits behind the point, of which the standard takes its constants. */
const fraction = (x: number): number => Math.floor((x - Math.floor(x)) * 2 ** 32);

function primes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
}

const begun: Readonly<Record<Kind, () => Uint32Array>> = {
  sha256: () => Uint32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime))),
  sha1: () => Uint32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0),
};

export class Hashing {
  readonly #kind: Kind;
  #state: Uint32Array;
  /** What does not fill a block yet. */
  #rest = new Uint8Array(blockBytes);
  #bytes = 0;

  constructor(kind: Kind) {
    this.#kind = kind;
    this.#state = begun[kind]();
  }

  update(bytes: Uint8Array): this {
    const held = this.#bytes % blockBytes;
    this.#bytes += bytes.length;
    const first = held === 0 ? 0 : Math.min(bytes.length, blockBytes - held);
    this.#rest.set(bytes.subarray(0, first), held);
    if (held > 0 && held + first === blockBytes) this.#blocks(this.#rest);
    const last = bytes.length - ((bytes.length - first) % blockBytes);
    for (let at = first; at < last; at += inputBytes) this.#blocks(bytes.subarray(at, Math.min(last, at + inputBytes)));
    if (last > first || held === 0 || held + first === blockBytes) this.#rest.set(bytes.subarray(Math.max(first, last)));
    return this;
  }

  copy(): Hashing {
    const other = new Hashing(this.#kind);
    other.#state = this.#state.slice();
    other.#rest = this.#rest.slice();
    other.#bytes = this.#bytes;
    return other;
  }

  digest(): Uint8Array {
    const bits = this.#bytes * 8;
    const held = this.#bytes % blockBytes;
    const padding = new Uint8Array((held < 56 ? 64 : 128) - held);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(padding.length - 4, bits % 2 ** 32);
    this.update(padding);
    const result = new DataView(new ArrayBuffer(this.#state.length * 4));
    for (const [i, word] of this.#state.entries()) result.setUint32(4 * i, word);
    return new Uint8Array(result.buffer);
  }

  /** Whole blocks, not more than there is room for. */
  #blocks(bytes: Uint8Array): void {
    kernels ??= start();
    kernels.state.set(this.#state);
    kernels.memory.set(bytes, input);
    kernels.run[this.#kind](input, bytes.length / blockBytes);
    this.#state.set(kernels.state.subarray(0, this.#state.length));
  }
}
