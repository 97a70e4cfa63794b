import { GraphError } from "../base/errors.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";
import { trainedLayout } from "../weights/freeze.ts";
import { kernelBytes } from "./kernels.wasm.ts";

export interface OptimizerOptions {
  /** Decay of matrices; vectors (biases, scales) are left alone unless `decayAll` is set. */
  readonly weightDecay?: number;
  readonly decayAll?: boolean;
  /** The largest norm of the whole gradient; a longer one is shortened to it. */
  readonly clip?: number;
  /** Whether gradients of several runs will be added up before a step; takes one more buffer. */
  readonly accumulates?: boolean;
  /** Scopes of parameters that stay as they are: they have no gradient and nothing is remembered of them. */
  readonly freeze?: readonly string[];
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

/**
 * Neighbouring parameters that are treated alike: where they start (in bytes) among the weights and, without those that are frozen, among
 * the gradients; how many numbers, whether they decay.
 */
export interface Segment {
  readonly at: number;
  readonly gradientAt: number;
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
    const { weightDecay = 0, decayAll = false, clip = Number.POSITIVE_INFINITY, accumulates = false, freeze } = options;
    if (layout.dtype !== "float32") throw new GraphError(`optimizers work on float32 parameters, not ${layout.dtype}`);
    const trained = trainedLayout(layout, freeze);
    const parts = 1 + remembers.length + (accumulates ? 1 : 0); // of the size of the gradient
    const bytes = 4 * (layout.total + parts * trained.total);
    const pages = Math.ceil(bytes / pageBytes) + 1;
    if (pages > pageBytes)
      throw new GraphError(
        `${layout.total} parameters with gradients and optimizer state take ${(bytes / 2 ** 30).toFixed(1)} GiB, and WebAssembly memory ends at 4 GiB`,
      );
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages }); // never grows: growing would detach every view
    const part = (i: number) =>
      new ParameterBuffer(trained, new Float32Array(memory.buffer, 4 * (layout.total + i * trained.total), trained.total));
    this.weights = new ParameterBuffer(layout, new Float32Array(memory.buffer, 0, layout.total));
    this.gradients = part(0);
    this.state = new Map(remembers.map((name, i) => [name, part(1 + i)]));
    this.#sums = accumulates ? part(parts - 1) : undefined;
    const code = Uint8Array.from(atob(kernelBytes), (c) => c.charCodeAt(0));
    this.kernels = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } }).exports as unknown as Kernels;
    this.weightDecay = weightDecay;
    this.#clip = clip;
    this.#segments = segments(this.weights, trained, (shape) => weightDecay > 0 && (decayAll || shape.length > 1));
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

  /** Where a segment begins in a buffer's memory. */
  protected address(buffer: ParameterBuffer, { at, gradientAt }: Segment): number {
    return buffer.data.byteOffset + (buffer === this.weights ? at : gradientAt);
  }

  protected remembered(name: string): ParameterBuffer {
    return this.state.get(name) as ParameterBuffer;
  }
}

function segments(
  weights: ParameterBuffer,
  trained: ParameterLayout,
  decaysFor: (shape: readonly number[]) => boolean,
): readonly Segment[] {
  const found: { at: number; gradientAt: number; count: number; decays: boolean }[] = [];
  for (const { name, offset, length, shape } of trained.entries) {
    const at = weights.view(name).data.byteOffset - weights.data.byteOffset;
    const decays = decaysFor(shape);
    const last = found.at(-1);
    if (last && last.decays === decays && last.at + 4 * last.count === at) last.count += length;
    else found.push({ at, gradientAt: 4 * offset, count: length, decays });
  }
  return found;
}
