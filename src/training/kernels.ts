import { kernelBytes } from "./kernels.wasm.ts";

// What kernels.as.ts computes, on a memory: buffers are addresses in it.

export interface Kernels {
  sumSquares(x: number, count: number): number;
  blend(y: number, x: number, count: number, keep: number, a: number): void;
  adamw(
    w: number,
    g: number,
    m: number,
    v: number,
    count: number,
    rate: number,
    beta1: number,
    beta2: number,
    root: number,
    epsilon: number,
    keep: number,
    scale: number,
  ): void;
  nesterov(u: number, g: number, m: number, count: number, beta: number, scale: number): void;
  sumStretches(x: number, count: number, stretches: number, stride: number): void;
  sumHalves(to: number, x: number, count: number, stretches: number, stride: number): void;
  widen(to: number, x: number, count: number): void;
  narrow(to: number, x: number, count: number): void;
}

export const pageBytes = 65_536;

/** A memory that never grows: growing would detach every view. */
export function memoryOf(bytes: number): WebAssembly.Memory {
  const pages = Math.ceil(bytes / pageBytes) + 1;
  return new WebAssembly.Memory({ initial: pages, maximum: pages });
}

export function kernelsOn(memory: WebAssembly.Memory): Kernels {
  const code = Uint8Array.from(atob(kernelBytes), (c) => c.charCodeAt(0));
  return new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } }).exports as unknown as Kernels;
}
