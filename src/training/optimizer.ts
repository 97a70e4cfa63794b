import { ConfigError, GraphError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { ParameterBuffer, type ParameterEntry, type ParameterLayout } from "../graph/parameters.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { Device } from "../runtime/device.ts";
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
  /** The mean of the weights over about so many steps is kept beside them; none, if left out or 0. */
  readonly average?: number;
  /** Bytes that one WebAssembly memory may take; 4 GiB, where it ends, unless less is given. */
  readonly memory?: number;
  /** Only these of the numbers that are trained move here, and only of them something is remembered: the rest is other ranks'. */
  readonly part?: (count: number) => Part;
}

/** What a kind of optimizer remembers and needs. */
export interface Needs {
  /** Of all that is trained, by name. */
  readonly remembers: readonly string[];
  /** Only of the parameters that move number by number. */
  readonly remembersAlone?: readonly string[];
  /** Which parameters do not, but as whole matrices; none, if left out. */
  readonly isMatrix?: (entry: ParameterEntry) => boolean;
  /** Rooms beside the buffers, each with so many numbers. */
  readonly rooms?: (trained: ParameterLayout) => readonly number[];
}

/** One parameter in a graph that takes a step: its gradient is clipped already. */
export interface InGraph {
  readonly entry: ParameterEntry;
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
  /** Whether they are matrices, which move as a whole. */
  readonly isMatrix: boolean;
  /** Where they start, in bytes, among those that move number by number; and in a room beside the buffers. */
  readonly aloneAt: number;
  readonly roomAt: number;
}

/** The state that is the mean of the weights. */
export const averagedName = "averaged";

const memoryEnd = 4 * 2 ** 30 - pageBytes;

/** Numbers of the part that moves here, one for each. */
export interface Remembered {
  readonly data: Float32Array;
  /** Of what: all that is trained, or only what moves number by number. */
  readonly layout: ParameterLayout;
}

/** Room beside the buffers. */
export interface Room {
  readonly data: Float32Array;
}

/** A buffer: weights, gradients, what is remembered, or room beside them. */
type Numbers = ParameterBuffer | Remembered | Room;

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
  /** Whether the engine computes a part of its steps: processors of different kinds may round that differently. */
  readonly isRoundedByEngine: boolean = false;
  /** What it remembers between steps of its part, by name. */
  readonly state: ReadonlyMap<string, Remembered>;
  /** Steps taken so far. */
  steps = 0;
  /** Where weights and state are on a device while they are trained: copies them into the buffers here. */
  bringHome: () => Promise<void> = async () => {};
  protected readonly kernels: Kernels;
  protected readonly weightDecay: number;
  protected readonly rooms: readonly Room[];
  readonly #average: number;
  #shipped: ParameterBuffer | undefined;
  readonly #alone: ParameterLayout;
  readonly #sums: ParameterBuffer | undefined;
  /** The longest gradient. */
  readonly clip: number;
  readonly #decays: (shape: readonly number[]) => boolean;
  /** All that is trained, and what of it moves here. */
  readonly #trained: readonly Segment[];
  readonly #segments: readonly Segment[];
  readonly #staging: Staging | undefined;

  protected constructor(layout: ParameterLayout, needs: Needs, options: OptimizerOptions) {
    const { average = 0 } = options;
    const { remembersAlone = [], isMatrix = () => false } = needs;
    const remembers = average > 0 ? [...needs.remembers, averagedName] : needs.remembers;
    if (average > 0 && options.part)
      throw new ConfigError(
        sentence`${setting("average")} is of all weights, and with ${setting("shardOptimizer")} each rank has a part of them; leave one of them out`,
        { code: "config.conflict", path: "training.average" },
      );
    const { weightDecay = 0, decayAll = false, clip = Number.POSITIVE_INFINITY, accumulates = false, freeze } = options;
    if (layout.dtype !== "float32") throw new GraphError(`optimizers work on float32 parameters, not ${layout.dtype}`);
    const trained = trainedLayout(layout, freeze);
    this.isPart = options.part !== undefined;
    this.part = options.part?.(trained.total) ?? { from: 0, to: trained.total };
    const own = this.part.to - this.part.from;
    this.#alone = layoutOf(trained, (entry) => !isMatrix(entry));
    const rooms = needs.rooms?.(trained) ?? [];
    const sizes = [
      layout.total,
      ...new Array<number>(accumulates ? 2 : 1).fill(trained.total), // gradients, and their sums
      ...remembers.map(() => own),
      ...remembersAlone.map(() => this.#alone.total),
      ...rooms,
    ];
    const parts = sizes.length - 1;
    const bytes = 4 * sizes.reduce((sum, count) => sum + whole(count), 0);
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
    this.state = new Map([
      ...remembers.map((name) => [name, { data: next(own), layout: trained }] as const),
      ...remembersAlone.map((name) => [name, { data: next(this.#alone.total), layout: this.#alone }] as const),
    ]);
    this.#sums = accumulates ? new ParameterBuffer(trained, next(trained.total)) : undefined;
    this.rooms = rooms.map((count) => ({ data: next(count) }));
    this.#staging = together ? undefined : { memory, count: staged, slots: new Map() };
    for (const buffer of [this.weights, this.gradients, ...this.state.values(), ...(this.#sums ? [this.#sums] : []), ...this.rooms])
      this.#staging?.slots.set(buffer, 4 * staged * this.#staging.slots.size);
    this.kernels = kernelsOn(memory);
    this.#average = average;
    this.weightDecay = weightDecay;
    this.clip = clip;
    this.#decays = (shape) => weightDecay > 0 && (decayAll || shape.length > 1);
    this.#trained = segments(this.weights, trained, this.#decays, isMatrix);
    this.#segments = this.#trained.flatMap((segment) => within(segment, this.part));
  }

  /** Makes ready what a step needs of the engine; before the first step, and only of some optimizers. */
  prepare(_device: Device): void {}

  /** Gives that back. */
  async release(): Promise<void> {}

  /** Moves one stretch of weights, number by number; the gradient counts `scale` times. */
  protected abstract move(segment: Segment, learningRate: number, scale: number): void;

  /** Moves the matrices, of an optimizer that has some. */
  protected async moveMatrices(_learningRate: number, _scale: number): Promise<void> {}

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
    this.each(asSegment({ from, to }), { reads: [this.gradients] }, (piece) => {
      squares += this.kernels.sumSquares(this.address(this.gradients, piece), piece.count);
    });
    return Math.sqrt(squares);
  }

  /** The gradient counts `share` times, as if it had been added to nothing; of a stretch of it, if one is given. */
  scale(share: number, stretchOf: Part = this.#all): void {
    const { gradients } = this;
    this.each(asSegment(stretchOf), { reads: [gradients], writes: [gradients] }, (piece) => {
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
    this.each(asSegment(stretchOf), { reads, writes: [place === "last" ? gradients : sums] }, (piece) => {
      const [sum, gradient] = reads.map((buffer) => this.address(buffer, piece));
      if (place === "last") this.kernels.blend(gradient, sum, piece.count, share, 1);
      else this.kernels.blend(sum, gradient, piece.count, 1, share);
    });
  }

  /** One update of the weights from the gradients. Gives back the gradient's norm before clipping; if that is not finite, nothing is touched. */
  async step(learningRate: number, norm: number = this.gradientNorm()): Promise<number> {
    if (!Number.isFinite(norm)) return norm;
    this.steps++;
    const scale = norm > this.clip ? this.clip / norm : 1;
    const writes = [this.weights, ...this.state.values()];
    for (const segment of this.#segments.filter(({ isMatrix }) => !isMatrix))
      this.each(segment, { reads: [...writes, this.gradients], writes }, (piece) => this.move(piece, learningRate, scale));
    if (this.#segments.some(({ isMatrix }) => isMatrix)) await this.moveMatrices(learningRate, scale);
    if (this.#average > 0) this.#addToAverage();
    return norm;
  }

  /** How much a step's weights count in the mean: of the first steps all alike, then the newest the most. */
  averageShare(step: number): number {
    return 1 / Math.min(step, this.#average);
  }

  #addToAverage(): void {
    const { weights } = this;
    const averaged = this.remembered(averagedName);
    const share = this.averageShare(this.steps);
    for (const segment of this.#segments)
      this.each(segment, { reads: [averaged, weights], writes: [averaged] }, (piece) => {
        const [mean, w] = [averaged, weights].map((buffer) => this.address(buffer, piece));
        this.kernels.blend(mean, w, piece.count, 1 - share, share);
      });
  }

  /** The weights that are validated and shipped: their mean, where one is kept. The next call writes over what this one gave. */
  get shipped(): ParameterBuffer {
    if (this.#average === 0 || this.steps === 0) return this.weights;
    this.#shipped ??= new ParameterBuffer(this.weights.layout);
    this.#shipped.data.set(this.weights.data as Float32Array); // what is frozen has no mean
    const { data } = this.remembered(averagedName);
    for (const { at, gradientAt, count } of this.#trained)
      this.#shipped.data.set(data.subarray(gradientAt / 4, gradientAt / 4 + count), at / 4);
    return this.#shipped;
  }

  /** A stretch of a matrix, so many numbers from its beginning, as it lies in the buffers; it has this place in a room. */
  protected segmentOf(name: string, { from, count, roomAt }: { from: number; count: number; roomAt: number }): Segment {
    const { layout } = this.gradients;
    const at = this.weights.view(name).data.byteOffset - this.weights.data.byteOffset + 4 * from;
    const { offset } = layout.entries.find((entry) => entry.name === name) as ParameterEntry;
    return { at, gradientAt: 4 * (offset + from), count, decays: this.decays(name), isMatrix: true, aloneAt: 0, roomAt };
  }

  /** Where a segment begins in the memory of the kernels. */
  protected address(buffer: Numbers, segment: Segment): number {
    return this.#staging?.slots.get(buffer) ?? buffer.data.byteOffset + this.#offset(buffer, segment);
  }

  #offset(buffer: Numbers, { at, gradientAt, aloneAt, roomAt }: Segment): number {
    if (buffer === this.weights) return at;
    if (!("layout" in buffer)) return roomAt;
    if (buffer.layout === this.#alone) return aloneAt;
    return buffer === this.gradients || buffer === this.#sums ? gradientAt : gradientAt - 4 * this.part.from;
  }

  get #all(): Part {
    return { from: 0, to: this.gradients.data.length };
  }

  /** Works on a segment: all at once where it lies in the memory of the kernels, else piece by piece, brought there and back. */
  protected each(segment: Segment, { reads, writes = [] }: Touched, work: (piece: Segment) => void): void {
    const staging = this.#staging;
    if (!staging) {
      work(segment);
      return;
    }
    for (let done = 0; done < segment.count; done += staging.count) {
      const piece = shifted(segment, done, Math.min(staging.count, segment.count - done));
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
export function wholeState({ state, isPart }: Pick<Optimizer, "state" | "isPart">): WholeState {
  return new Map(
    [...state].map(([name, { data, layout }]) => [name, isPart ? new ParameterBuffer(layout) : new ParameterBuffer(layout, data)]),
  );
}

/** Some of a layout's parameters, one after the other. */
function layoutOf(layout: ParameterLayout, has: (entry: ParameterEntry) => boolean): ParameterLayout {
  let total = 0;
  const entries = layout.entries.filter(has).map((entry): ParameterEntry => {
    total += entry.length;
    return { ...entry, offset: total - entry.length };
  });
  return { ...layout, entries, total };
}

/** A stretch of buffers that are like the gradients, as a segment. */
const asSegment = ({ from, to }: Part): Segment => ({
  at: 0,
  gradientAt: 4 * from,
  count: to - from,
  decays: false,
  isMatrix: false,
  aloneAt: 0,
  roomAt: 0,
});

/** So many numbers of a segment, from one of them on. */
const shifted = (segment: Segment, by: number, count: number): Segment => ({
  ...segment,
  at: segment.at + 4 * by,
  gradientAt: segment.gradientAt + 4 * by,
  aloneAt: segment.aloneAt + 4 * by,
  roomAt: segment.roomAt + 4 * by,
  count,
});

/** What of a segment lies in a part; nothing, if none of it does. */
function within(segment: Segment, { from, to }: Part): Segment[] {
  const first = Math.max(0, from - segment.gradientAt / 4);
  const last = Math.min(segment.count, to - segment.gradientAt / 4);
  return last <= first ? [] : [shifted(segment, first, last - first)];
}

function segments(
  weights: ParameterBuffer,
  trained: ParameterLayout,
  decaysFor: (shape: readonly number[]) => boolean,
  isMatrixIn: (entry: ParameterEntry) => boolean,
): readonly Segment[] {
  const found: (Omit<Segment, "count"> & { count: number })[] = [];
  let alone = 0;
  for (const entry of trained.entries) {
    const { name, offset, length, shape } = entry;
    const at = weights.view(name).data.byteOffset - weights.data.byteOffset;
    const [decays, isMatrix] = [decaysFor(shape), isMatrixIn(entry)];
    const last = found.at(-1);
    if (last && last.decays === decays && last.isMatrix === isMatrix && last.at + 4 * last.count === at) last.count += length;
    else found.push({ at, gradientAt: 4 * offset, count: length, decays, isMatrix, aloneAt: 4 * alone, roomAt: 0 });
    if (!isMatrix) alone += length;
  }
  return found;
}
