import { GraphError } from "../base/errors.ts";
import { ParameterBuffer, type ParameterLayout } from "../graph/parameters.ts";
import type { Tensor } from "../graph/tensor.ts";
import { trainedLayout } from "../weights/freeze.ts";
import type { Part } from "./group.ts";
import { type Kernels, kernelsOn, memoryOf, pageBytes } from "./kernels.ts";

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
  /** Bytes that one WebAssembly memory may take; 4 GiB, where it ends, unless less is given. */
  readonly memory?: number;
  /** Only these of the numbers that are trained move here, and only of them something is remembered: the rest is other ranks'. */
  readonly part?: (count: number) => Part;
}

/** One parameter in a graph that takes a step: its gradient is clipped already. */
export interface InGraph {
  readonly weight: Tensor;
  readonly gradient: Tensor;
  /** What is remembered of it, by name. */
  readonly state: Readonly<Record<string, Tensor>>;
  readonly decays: boolean;
  /** The numbers of the step. */
  readonly numbers: Readonly<Record<string, Tensor>>;
}

export type Moved = Pick<InGraph, "weight" | "state">;

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

const memoryEnd = 4 * 2 ** 30 - pageBytes;

/** Numbers of the part that moves here, one for each. */
export interface Remembered {
  readonly data: Float32Array;
}

/** A buffer: weights, gradients or what is remembered. */
type Numbers = ParameterBuffer | Remembered;

/** What a piece of work reads and writes. */
interface Touched {
  readonly reads: readonly Numbers[];
  readonly writes?: readonly Numbers[];
}

/** A small memory for buffers that lie elsewhere: how many numbers of each fit, and where. */
interface Staging {
  readonly memory: WebAssembly.Memory;
  readonly count: number;
  readonly slots: Map<Numbers, number>;
}

/** As many numbers, up to a whole line of the cache: what ranks send each other goes several times as fast between places that lie alike in theirs. */
const whole = (count: number): number => 16 * Math.ceil(count / 16);

/** Weights, gradients and state beyond the end of a WebAssembly memory are brought into one in pieces of at most so many numbers. */
const largestPiece = 2 ** 22;
/** The sum of squares is taken in stretches of so many. */
const stretch = 4096;

/**
 * What every optimizer has: weights, gradients and its own state on flat buffers; clipping; accumulation. A kind of optimizer says what it
 * remembers and how a stretch of weights moves. The buffers live in one WebAssembly memory, where ONNX Runtime reads and writes too. Where that
 * ends, at 4 GiB, they are ordinary ones, and pass through a small memory piece by piece.
 */
export abstract class Optimizer {
  readonly weights: ParameterBuffer;
  readonly gradients: ParameterBuffer;
  /** The stretch of all that is trained that moves here; all of it, unless other ranks have their own. */
  readonly part: Part;
  /** Whether other ranks move the rest; a small model may all be in the part of one. */
  readonly isPart: boolean;
  /** What it remembers between steps of its part, by name. */
  readonly state: ReadonlyMap<string, Remembered>;
  /** Steps taken so far. */
  steps = 0;
  /** Where weights and state are on a device while they are trained: copies them into the buffers here. */
  bringHome: () => Promise<void> = async () => {};
  protected readonly kernels: Kernels;
  protected readonly weightDecay: number;
  readonly #sums: ParameterBuffer | undefined;
  /** The longest gradient. */
  readonly clip: number;
  readonly #decays: (shape: readonly number[]) => boolean;
  /** All that is trained, and what of it moves here. */
  readonly #trained: readonly Segment[];
  readonly #segments: readonly Segment[];
  readonly #staging: Staging | undefined;

  protected constructor(layout: ParameterLayout, remembers: readonly string[], options: OptimizerOptions) {
    const { weightDecay = 0, decayAll = false, clip = Number.POSITIVE_INFINITY, accumulates = false, freeze } = options;
    if (layout.dtype !== "float32") throw new GraphError(`optimizers work on float32 parameters, not ${layout.dtype}`);
    const trained = trainedLayout(layout, freeze);
    this.isPart = options.part !== undefined;
    this.part = options.part?.(trained.total) ?? { from: 0, to: trained.total };
    const own = this.part.to - this.part.from;
    const parts = 1 + remembers.length + (accumulates ? 1 : 0); // of the size of the gradient, or of the part that moves
    const bytes = 4 * (whole(layout.total) + (parts - remembers.length) * whole(trained.total) + remembers.length * whole(own));
    const together = bytes <= (options.memory ?? memoryEnd);
    const staged = Math.min(largestPiece, stretch * Math.max(1, Math.floor((options.memory ?? memoryEnd) / (4 * stretch * (1 + parts)))));
    const memory = memoryOf(together ? bytes : 4 * staged * (1 + parts));
    const numbers = (at: number, count: number) => (together ? new Float32Array(memory.buffer, 4 * at, count) : new Float32Array(count));
    let at = whole(layout.total);
    const next = (count: number) => {
      at += whole(count);
      return numbers(at - whole(count), count);
    };
    this.weights = new ParameterBuffer(layout, numbers(0, layout.total));
    this.gradients = new ParameterBuffer(trained, next(trained.total));
    this.state = new Map(remembers.map((name) => [name, { data: next(own) }]));
    this.#sums = accumulates ? new ParameterBuffer(trained, next(trained.total)) : undefined;
    this.#staging = together ? undefined : { memory, count: staged, slots: new Map() };
    for (const buffer of [this.weights, this.gradients, ...this.state.values(), ...(this.#sums ? [this.#sums] : [])])
      this.#staging?.slots.set(buffer, 4 * staged * this.#staging.slots.size);
    this.kernels = kernelsOn(memory);
    this.weightDecay = weightDecay;
    this.clip = clip;
    this.#decays = (shape) => weightDecay > 0 && (decayAll || shape.length > 1);
    this.#trained = segments(this.weights, trained, this.#decays);
    this.#segments = this.#trained.flatMap((segment) => within(segment, this.part));
  }

  /** Moves one stretch of weights; the gradient counts `scale` times. */
  protected abstract move(segment: Segment, learningRate: number, scale: number): void;

  /** What changes from step to step in a graph that takes them: of the next one, with this learning rate. */
  abstract numbers(learningRate: number): Readonly<Record<string, number>>;

  /** The same step as `move` takes, as graph. */
  abstract moved(given: InGraph): Moved;

  /** Whether a parameter decays. */
  decays(name: string): boolean {
    return this.#decays(this.weights.view(name).shape);
  }

  /** The length of the whole gradient; where only a part moves here, of that part. */
  gradientNorm(): number {
    const { from, to } = this.part;
    let squares = 0;
    this.#each(asSegment({ from, to }), { reads: [this.gradients] }, (piece) => {
      squares += this.kernels.sumSquares(this.address(this.gradients, piece), piece.count);
    });
    return Math.sqrt(squares);
  }

  /** The gradient counts `share` times, as if it had been added to nothing; of a stretch of it, if one is given. */
  scale(share: number, stretchOf: Part = this.#all): void {
    const { gradients } = this;
    this.#each(asSegment(stretchOf), { reads: [gradients], writes: [gradients] }, (piece) => {
      const at = this.address(gradients, piece);
      this.kernels.blend(at, at, piece.count, share, 0);
    });
  }

  /** The weights that are trained as one flat buffer, in the place of the gradients: what ranks share lies there. */
  weightsToGradients(): void {
    for (const { at, gradientAt, count } of this.#segments)
      this.gradients.data.set(this.weights.data.subarray(at / 4, at / 4 + count), gradientAt / 4);
  }

  /** And back: all that is trained, from wherever it came. */
  gradientsToWeights(): void {
    for (const { at, gradientAt, count } of this.#trained)
      this.weights.data.set(this.gradients.data.subarray(gradientAt / 4, gradientAt / 4 + count), at / 4);
  }

  /** Adds the gradients of a run to those of the runs before it, `share` times. After the last one, the sum takes their place. A stretch of them, if one is given. */
  accumulate(share: number, place: "first" | "middle" | "last", stretchOf: Part = this.#all): void {
    const { gradients } = this;
    const sums = this.#sums;
    if (!sums) throw new GraphError("this optimizer was not made to accumulate; make it with { accumulates: true }");
    if (place === "first") sums.data.fill(0, stretchOf.from, stretchOf.to);
    const reads = [sums, gradients];
    this.#each(asSegment(stretchOf), { reads, writes: [place === "last" ? gradients : sums] }, (piece) => {
      const [sum, gradient] = reads.map((buffer) => this.address(buffer, piece));
      if (place === "last") this.kernels.blend(gradient, sum, piece.count, share, 1);
      else this.kernels.blend(sum, gradient, piece.count, 1, share);
    });
  }

  /** One update of the weights from the gradients. Gives back the gradient's norm before clipping; if that is not finite, nothing is touched. */
  step(learningRate: number, norm: number = this.gradientNorm()): number {
    if (!Number.isFinite(norm)) return norm;
    this.steps++;
    const scale = norm > this.clip ? this.clip / norm : 1;
    const writes = [this.weights, ...this.state.values()];
    for (const segment of this.#segments)
      this.#each(segment, { reads: [...writes, this.gradients], writes }, (piece) => this.move(piece, learningRate, scale));
    return norm;
  }

  /** Where a segment begins in the memory of the kernels. */
  protected address(buffer: Numbers, segment: Segment): number {
    return this.#staging?.slots.get(buffer) ?? buffer.data.byteOffset + this.#offset(buffer, segment);
  }

  #offset(buffer: Numbers, { at, gradientAt }: Segment): number {
    if (buffer === this.weights) return at;
    return buffer === this.gradients || buffer === this.#sums ? gradientAt : gradientAt - 4 * this.part.from;
  }

  get #all(): Part {
    return { from: 0, to: this.gradients.data.length };
  }

  /** Works on a segment: all at once where it lies in the memory of the kernels, else piece by piece, brought there and back. */
  #each(segment: Segment, { reads, writes = [] }: Touched, work: (piece: Segment) => void): void {
    const staging = this.#staging;
    if (!staging) {
      work(segment);
      return;
    }
    for (let done = 0; done < segment.count; done += staging.count) {
      const { at, gradientAt, decays } = segment;
      const piece = { at: at + 4 * done, gradientAt: gradientAt + 4 * done, count: Math.min(staging.count, segment.count - done), decays };
      const here = (buffer: Numbers) => {
        const begin = this.#offset(buffer, piece) / 4;
        return buffer.data.subarray(begin, begin + piece.count);
      };
      const there = (buffer: Numbers) => new Float32Array(staging.memory.buffer, staging.slots.get(buffer), piece.count);
      for (const buffer of reads) there(buffer).set(here(buffer));
      work(piece);
      for (const buffer of writes) here(buffer).set(there(buffer));
    }
  }

  protected remembered(name: string): Remembered {
    return this.state.get(name) as Remembered;
  }
}

/** What an optimizer remembers of all that is trained, by name; of one that moves only a part, the rest is other ranks'. */
export type WholeState = ReadonlyMap<string, ParameterBuffer>;

/** The state of an optimizer that moves all; of another, room for it. */
export function wholeState({ state, isPart, gradients: { layout } }: Pick<Optimizer, "state" | "gradients" | "isPart">): WholeState {
  return new Map([...state].map(([name, { data }]) => [name, isPart ? new ParameterBuffer(layout) : new ParameterBuffer(layout, data)]));
}

/** A stretch of buffers that are like the gradients, as a segment. */
const asSegment = ({ from, to }: Part): Segment => ({ at: 0, gradientAt: 4 * from, count: to - from, decays: false });

/** What of a segment lies in a part; nothing, if none of it does. */
function within({ at, gradientAt, count, decays }: Segment, { from, to }: Part): Segment[] {
  const first = Math.max(0, from - gradientAt / 4);
  const last = Math.min(count, to - gradientAt / 4);
  return last <= first ? [] : [{ at: at + 4 * first, gradientAt: gradientAt + 4 * first, count: last - first, decays }];
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
