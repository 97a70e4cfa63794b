import { GraphError } from "../base/errors.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";
import { kernelBytes } from "./kernels.wasm.ts";

export interface OptimizerOptions {
  /** Decay of matrices; vectors (biases, scales) are left alone unless `decayAll` is set. */
  readonly weightDecay?: number;
  readonly decayAll?: boolean;
  /** The largest norm of the whole gradient; a longer one is shortened to it. */
  readonly clip?: number;
  /** Whether gradients of several runs will be added up before a step; takes one more buffer. */
  readonly accumulates?: boolean;
}

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
}

/** Neighbouring parameters that are treated alike: where they start (in bytes), how many numbers, whether they decay. */
export interface Segment {
  readonly at: number;
  readonly count: number;
  readonly decays: boolean;
}

const pageBytes = 65_536;

/**
 * What every optimizer has: weights, gradients and its own state on flat buffers that live in one WebAssembly memory, where ONNX Runtime
 * reads and writes too; clipping; accumulation. A kind of optimizer says what it remembers and how a stretch of weights moves.
 */
export abstract class Optimizer {
  readonly weights: ParameterBuffer;
  readonly gradients: ParameterBuffer;
  /** What it remembers between steps, by name. */
  readonly state: ReadonlyMap<string, ParameterBuffer>;
  /** Steps taken so far. */
  steps = 0;
  protected readonly kernels: Kernels;
  protected readonly weightDecay: number;
  readonly #sums: ParameterBuffer | undefined;
  readonly #clip: number;
  readonly #segments: readonly Segment[];

  protected constructor(layout: ParameterLayout, remembers: readonly string[], options: OptimizerOptions) {
    const { weightDecay = 0, decayAll = false, clip = Number.POSITIVE_INFINITY, accumulates = false } = options;
    if (layout.dtype !== "float32") throw new GraphError(`optimizers work on float32 parameters, not ${layout.dtype}`);
    const bytes = layout.total * 4;
    const parts = 2 + remembers.length + (accumulates ? 1 : 0);
    const pages = Math.ceil((parts * bytes) / pageBytes) + 1;
    if (pages > pageBytes)
      throw new GraphError(
        `${layout.total} parameters with gradients and optimizer state take ${((parts * bytes) / 2 ** 30).toFixed(1)} GiB, and WebAssembly memory ends at 4 GiB`,
      );
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages }); // never grows: growing would detach every view
    const part = (i: number) => new ParameterBuffer(layout, new Float32Array(memory.buffer, i * bytes, layout.total));
    this.weights = part(0);
    this.gradients = part(1);
    this.state = new Map(remembers.map((name, i) => [name, part(2 + i)]));
    this.#sums = accumulates ? part(parts - 1) : undefined;
    const code = Uint8Array.from(atob(kernelBytes), (c) => c.charCodeAt(0));
    this.kernels = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } }).exports as unknown as Kernels;
    this.weightDecay = weightDecay;
    this.#clip = clip;
    this.#segments = segments(layout, (shape) => weightDecay > 0 && (decayAll || shape.length > 1));
  }

  /** Moves one stretch of weights; the gradient counts `scale` times. */
  protected abstract move(segment: Segment, learningRate: number, scale: number): void;

  /** The length of the whole gradient. */
  gradientNorm(): number {
    const { data } = this.gradients;
    return Math.sqrt(this.kernels.sumSquares(data.byteOffset, data.length));
  }

  /** Adds the gradients of a run to those of the runs before it, `share` times. After the last one, the sum takes their place. */
  accumulate(share: number, place: "first" | "middle" | "last"): void {
    if (!this.#sums) throw new GraphError("this optimizer was not made to accumulate; make it with { accumulates: true }");
    const [sums, gradients, count] = [this.#sums.data.byteOffset, this.gradients.data.byteOffset, this.gradients.data.length];
    if (place === "first") this.#sums.data.fill(0);
    if (place === "last") this.kernels.blend(gradients, sums, count, share, 1);
    else this.kernels.blend(sums, gradients, count, 1, share);
  }

  /** One update of the weights from the gradients. Gives back the gradient's norm before clipping; if that is not finite, nothing is touched. */
  step(learningRate: number): number {
    const norm = this.gradientNorm();
    if (!Number.isFinite(norm)) return norm;
    this.steps++;
    const scale = norm > this.#clip ? this.#clip / norm : 1;
    for (const segment of this.#segments) this.move(segment, learningRate, scale);
    return norm;
  }

  /** Where a buffer begins in memory. */
  protected address(buffer: ParameterBuffer): number {
    return buffer.data.byteOffset;
  }

  protected remembered(name: string): ParameterBuffer {
    return this.state.get(name) as ParameterBuffer;
  }
}

function segments(layout: ParameterLayout, decaysFor: (shape: readonly number[]) => boolean): Segment[] {
  const found: { at: number; count: number; decays: boolean }[] = [];
  for (const { offset, length, shape } of layout.entries) {
    const decays = decaysFor(shape);
    const last = found.at(-1);
    if (last && last.decays === decays) last.count += length;
    else found.push({ at: 4 * offset, count: length, decays });
  }
  return found;
}
