import { GraphError } from "../base/errors.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";
import { kernelBytes } from "./kernels.wasm.ts";

export interface AdamWOptions {
  readonly beta1?: number;
  readonly beta2?: number;
  readonly epsilon?: number;
  /** Decay of matrices; vectors (biases, scales) are left alone. */
  readonly weightDecay?: number;
  /** The largest norm of the whole gradient; a longer one is shortened to it. */
  readonly clip?: number;
}

interface Kernels {
  sumSquares(x: number, count: number): number;
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
}

const pageBytes = 65_536;

/** AdamW (Loshchilov & Hutter 2019) with clipping, on flat buffers that live in WebAssembly memory, where ONNX Runtime reads and writes too. */
export class AdamW {
  readonly weights: ParameterBuffer;
  readonly gradients: ParameterBuffer;
  readonly firstMoments: ParameterBuffer;
  readonly secondMoments: ParameterBuffer;
  readonly #kernels: Kernels;
  readonly #options: Required<AdamWOptions>;
  #steps = 0;

  constructor(layout: ParameterLayout, options: AdamWOptions = {}) {
    if (layout.dtype !== "float32") throw new GraphError(`AdamW works on float32 parameters, not ${layout.dtype}`);
    const bytes = layout.total * 4;
    const pages = Math.ceil((4 * bytes) / pageBytes) + 1;
    if (pages > pageBytes)
      throw new GraphError(
        `${layout.total} parameters with their moments take ${((4 * bytes) / 2 ** 30).toFixed(1)} GiB, and WebAssembly memory ends at 4 GiB`,
      );
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages }); // never grows: growing would detach every view
    const part = (i: number) => new ParameterBuffer(layout, new Float32Array(memory.buffer, i * bytes, layout.total));
    [this.weights, this.gradients, this.firstMoments, this.secondMoments] = [part(0), part(1), part(2), part(3)];
    const code = Uint8Array.from(atob(kernelBytes), (c) => c.charCodeAt(0));
    this.#kernels = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } }).exports as unknown as Kernels;
    this.#options = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, clip: Number.POSITIVE_INFINITY, ...options };
  }

  /** The length of the whole gradient. */
  gradientNorm(): number {
    const { data } = this.gradients;
    return Math.sqrt(this.#kernels.sumSquares(data.byteOffset, data.length));
  }

  /** One update of the weights from the gradients. Gives back the gradient's norm before clipping; if that is not finite, nothing is touched. */
  step(learningRate: number): number {
    const norm = this.gradientNorm();
    if (!Number.isFinite(norm)) return norm;
    const { beta1, beta2, epsilon, weightDecay, clip } = this.#options;
    this.#steps++;
    const rate = learningRate / (1 - beta1 ** this.#steps);
    const root = 1 / (1 - beta2 ** this.#steps);
    const scale = norm > clip ? clip / norm : 1;
    const [w, g, m, v] = [this.weights, this.gradients, this.firstMoments, this.secondMoments].map((buffer) => buffer.data.byteOffset);
    for (const { offset, length, decays } of this.#segments()) {
      const at = offset * 4;
      const keep = decays ? 1 - learningRate * weightDecay : 1;
      this.#kernels.adamw(w + at, g + at, m + at, v + at, length, rate, beta1, beta2, root, epsilon, keep, scale);
    }
    return norm;
  }

  /** Neighbouring parameters that are treated alike, as one stretch. */
  #segments(): { offset: number; length: number; decays: boolean }[] {
    const segments: { offset: number; length: number; decays: boolean }[] = [];
    for (const { offset, length, shape } of this.weights.layout.entries) {
      const decays = this.#options.weightDecay > 0 && shape.length > 1;
      const last = segments.at(-1);
      if (last && last.decays === decays) last.length += length;
      else segments.push({ offset, length, decays });
    }
    return segments;
  }
}
