import { array } from "../base/arrays.ts";
import { ConfigError, GraphError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import type { ParameterEntry, ParameterLayout } from "../graph/parameters.ts";
import type { Tensor } from "../graph/tensor.ts";
import { add, mul, sub } from "../ops/arithmetic.ts";
import { concat, reshape, split } from "../ops/movement.ts";
import { type CompiledFunction, compile } from "../runtime/compile.ts";
import type { Device } from "../runtime/device.ts";
import { type AdamOptions, AdamW } from "./adam.ts";
import type { InGraph, Moved, Remembered, Segment } from "./optimizer.ts";
import { orthogonal, orthogonalFunction } from "./orthogonal.ts";

// Muon (Jordan 2024): a matrix moves by its momentum with all singular values made equal, so that rare directions are learned as fast as common ones.

export interface MuonOptions extends AdamOptions {
  /** How long a matrix's gradients are remembered; β1 and β2 are for all that is no matrix. */
  readonly momentum?: number;
  /** Of Newton and Schulz, for each step. */
  readonly iterations?: number;
}

export const usualMomentum = 0.95;
const usualIterations = 3;

/** So large is a number of an update on average: as large as those of AdamW are (Liu et al. 2025), so that one learning rate serves both. */
const size = 0.2;

/** Matrices of one shape are orthogonalised together, up to so many numbers. */
const together = 2 ** 20;

const notProducts: readonly string[] = ["embedding", "positions", "norms", "logits"];

/**
 * Whether a parameter is a matrix by which hidden states are multiplied: not a table of tokens or positions, and not the last layer, whose rows belong to single tokens.
 * What an own model did not make as a part of anything is one if it is the weight of a linear layer.
 */
export function isMuonMatrix({ name, shape, part }: Pick<ParameterEntry, "name" | "shape" | "part">): boolean {
  if (shape.length < 2 || Math.min(...shape.slice(-2)) < 2 || notProducts.includes(part)) return false;
  return part !== "other" || (name.endsWith("/weight") && !/(^|\/)(scores|labels|tokens)\/weight$/.test(name));
}

/** How many numbers of a layout are in matrices, of which only one moment is remembered. */
export const numbersInMatrices = ({ entries }: ParameterLayout): number =>
  entries.filter(isMuonMatrix).reduce((sum, { length }) => sum + length, 0);

/** One of the matrices that a parameter is: rows × cols numbers from a place in it on. */
interface Matrix {
  readonly name: string;
  readonly rows: number;
  readonly cols: number;
  readonly from: number;
}

/** Queries, keys and values are matrices of their own, and so are gates and heads, even where they lie in one parameter. */
function matricesOf({ name, shape, stacked }: ParameterEntry): Matrix[] {
  const [rows, cols] = shape.slice(-2);
  const count = shape.slice(0, -2).reduce((a, b) => a * b, 1);
  const heights = stacked && count === 1 ? stacked : new Array<number>(count).fill(rows);
  let from = 0;
  return heights.map((height) => {
    from += height * cols;
    return { name, rows: height, cols, from: from - height * cols };
  });
}

const scaleOf = ({ rows, cols }: Pick<Matrix, "rows" | "cols">): number => size * Math.sqrt(Math.max(rows, cols));

/** Matrices of one shape that are orthogonalised at once. */
interface Batch {
  readonly rows: number;
  readonly cols: number;
  readonly matrices: readonly Matrix[];
}

/** As few batches as fit, as even as can be: one session serves all of the same size. */
function batchesOf(layout: ParameterLayout): Batch[] {
  const byShape = new Map<string, Matrix[]>();
  for (const matrix of layout.entries.filter(isMuonMatrix).flatMap(matricesOf)) {
    const key = `${matrix.rows} ${matrix.cols}`;
    byShape.set(key, [...(byShape.get(key) ?? []), matrix]);
  }
  return [...byShape.values()].flatMap((all) => {
    const [{ rows, cols }] = all;
    const most = Math.max(1, Math.floor(together / (rows * cols)));
    const each = Math.ceil(all.length / Math.ceil(all.length / most));
    return Array.from({ length: Math.ceil(all.length / each) }, (_, i) => ({ rows, cols, matrices: all.slice(i * each, (i + 1) * each) }));
  });
}

/** What makes the matrices of a layout orthogonal in one step: each function, and how many matrices it is given at once. */
export const muonProducts = (layout: ParameterLayout) =>
  batchesOf(layout).map(({ rows, cols, matrices }) => ({
    fn: orthogonalFunction(rows, cols, { iterations: usualIterations, scale: scaleOf({ rows, cols }) }),
    n: matrices.length,
  }));

const numbersIn = ({ rows, cols, matrices }: Batch): number => rows * cols * matrices.length;

type Orthogonalise = CompiledFunction<ReturnType<typeof orthogonalFunction>["inputs"], { y: Tensor }>;

/** AdamW for all but the matrices, and for these Muon: momentum, made orthogonal by the engine's own products. */
export class Muon extends AdamW {
  override readonly isRoundedByEngine = true;
  readonly #momentum: number;
  readonly #iterations: number;
  readonly #batches: readonly (Batch & { readonly segments: readonly Segment[] })[];
  readonly #compiled = new Map<string, Orthogonalise>();
  readonly #moments: Remembered;
  #device: Device | undefined;

  constructor(layout: ParameterLayout, options: MuonOptions = {}) {
    if (options.part)
      throw new ConfigError(
        sentence`${setting("optimizer", "muon")} moves whole matrices, and with ${setting("shardOptimizer")} each rank has a stretch of numbers; leave one of them out`,
        { code: "config.conflict", path: "training.optimizer" },
      );
    super(layout, options, {
      remembers: ["firstMoments"],
      remembersAlone: ["secondMoments"],
      isMatrix: isMuonMatrix,
      rooms: (trained) => new Array<number>(2).fill(Math.max(0, ...batchesOf(trained).map(numbersIn))),
    });
    this.#momentum = options.momentum ?? usualMomentum;
    this.#iterations = options.iterations ?? usualIterations;
    this.#moments = this.remembered("firstMoments");
    this.#batches = batchesOf(this.gradients.layout).map((batch) => ({ ...batch, segments: this.#segmentsOf(batch) }));
  }

  override prepare(device: Device): void {
    this.#device = device;
  }

  override async release(): Promise<void> {
    for (const compiled of this.#compiled.values()) await compiled.release();
    this.#compiled.clear();
  }

  protected override async moveMatrices(learningRate: number, scale: number): Promise<void> {
    const { weights, gradients } = this;
    const [update, turned] = this.rooms;
    const moments = this.#moments;
    for (const batch of this.#batches) {
      for (const segment of batch.segments)
        this.each(segment, { reads: [gradients, moments], writes: [moments, update] }, (piece) => {
          const [u, g, m] = [update, gradients, moments].map((buffer) => this.address(buffer, piece));
          this.kernels.nesterov(u, g, m, piece.count, this.#momentum, scale);
        });
      await this.#orthogonalise(batch);
      for (const segment of batch.segments) {
        const keep = segment.decays ? this.keep(learningRate) : 1;
        this.each(segment, { reads: [weights, turned], writes: [weights] }, (piece) => {
          const [w, o] = [weights, turned].map((buffer) => this.address(buffer, piece));
          this.kernels.blend(w, o, piece.count, keep, -learningRate);
        });
      }
    }
  }

  override moved(given: InGraph): Moved {
    const { entry, weight, gradient, state, decays, numbers } = given;
    if (!isMuonMatrix(entry)) return super.moved(given);
    const { firstMoments: before } = state;
    const momentum = add(mul(before, this.#momentum), gradient);
    const update = add(mul(momentum, this.#momentum), gradient);
    const step = mul(this.#turned(update, entry), numbers.plainRate);
    return { weight: sub(decays ? mul(weight, numbers.keep) : weight, step), state: { firstMoments: momentum } };
  }

  override numbers(learningRate: number): Readonly<Record<string, number>> {
    return { ...super.numbers(learningRate), plainRate: learningRate };
  }

  /** What is orthogonal, of one parameter in a graph. */
  #turned(update: Tensor, entry: ParameterEntry): Tensor {
    const matrices = matricesOf(entry);
    const [{ rows, cols }] = matrices;
    const of = (x: Tensor, one: Matrix) =>
      orthogonal(reshape(x, [x.shape[0].known / one.rows, one.rows, cols]), { iterations: this.#iterations, scale: scaleOf(one) });
    const flat = reshape(update, [entry.length / cols, cols]);
    if (matrices.every((one) => one.rows === rows)) return reshape(of(flat, matrices[0]), entry.shape);
    const parts = split(
      flat,
      0,
      matrices.map((one) => one.rows),
    );
    return reshape(
      concat(
        parts.map((x, i) => reshape(of(x, matrices[i]), [matrices[i].rows, cols])),
        0,
      ),
      entry.shape,
    );
  }

  #segmentsOf({ rows, cols, matrices }: Batch): Segment[] {
    const count = rows * cols;
    return matrices.map(({ name, from }, i) => this.segmentOf(name, { from, count, roomAt: 4 * i * count }));
  }

  async #orthogonalise(batch: Batch): Promise<void> {
    const { rows, cols, matrices } = batch;
    const [x, y] = this.rooms.map(({ data }) => array("float32", data.subarray(0, numbersIn(batch)), [matrices.length, rows, cols]));
    await this.#function(rows, cols).run({ x }, { into: { y } });
  }

  #function(rows: number, cols: number): Orthogonalise {
    const device = this.#device;
    if (!device) throw new GraphError("Muon multiplies matrices with an engine; say which, by prepare(device), before the first step");
    const key = `${rows} ${cols}`;
    const known = this.#compiled.get(key);
    if (known) return known;
    const options = { iterations: this.#iterations, scale: scaleOf({ rows, cols }) };
    const made: Orthogonalise = compile(orthogonalFunction(rows, cols, options), { device, inPlace: true });
    this.#compiled.set(key, made);
    return made;
  }
}
