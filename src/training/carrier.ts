import { type Kernels, kernelsOn, memoryOf } from "./kernels.ts";
import { after, bytesOf, type Stretches, type Wire } from "./wire.ts";

// How numbers go from rank to rank, a piece for each rank at a time. What comes in lies in a memory of the kernels, which add it up there; what
// goes out leaves from where it is.

/** How numbers travel: as they are, or with the upper half of their bits. */
export const compressions = ["none", "bf16"] as const;
export type Compression = (typeof compressions)[number];

/** Numbers of a flat buffer: the piece that one rank adds up. */
export interface Piece {
  readonly from: number;
  readonly count: number;
}

export interface Carrier {
  /** Numbers of the own piece: the sum of everybody's, or what is to be shared. They stay until the next call. */
  own(count: number): Float32Array;
  /** Everybody's numbers of the own piece become one sum, in the order of ranks. */
  sum(values: Float32Array, pieces: readonly Piece[]): Promise<void>;
  /** The own numbers of all come to everybody. */
  share(values: Float32Array, pieces: readonly Piece[]): Promise<void>;
}

export interface CarrierOptions {
  /** Numbers that a piece may have. */
  readonly most: number;
  /** Bytes: what lies farther than that cannot be named by those who carry. */
  readonly reach: number;
}

export const carriers: Readonly<Record<Compression, (wire: Wire, options: CarrierOptions) => Carrier>> = {
  none: (wire, options) => new AsTheyAre(wire, options),
  bf16: (wire, options) => new UpperHalves(wire, options),
};

class AsTheyAre implements Carrier {
  readonly #wire: Wire;
  readonly #reach: number;
  readonly #room: Uint8Array;
  readonly #kernels: Kernels;

  constructor(wire: Wire, { most, reach }: CarrierOptions) {
    const memory = memoryOf(lines(4 * most) * wire.size);
    this.#wire = wire;
    this.#reach = reach;
    this.#room = new Uint8Array(memory.buffer);
    this.#kernels = kernelsOn(memory);
  }

  own(count: number): Float32Array {
    return new Float32Array(this.#room.buffer, 0, count);
  }

  async sum(values: Float32Array, pieces: readonly Piece[]): Promise<void> {
    const { rank, size } = this.#wire;
    const { count } = pieces[rank];
    const [sent, places] = this.#isNear(values) ? [values, where(pieces)] : together(values, pieces);
    await this.#wire.scatter(bytesOf(sent), places, this.#room, inLines(4 * count, size));
    this.#kernels.sumStretches(0, count, size, lines(4 * count));
  }

  async share(values: Float32Array, pieces: readonly Piece[]): Promise<void> {
    const own = bytesOf(this.own(pieces[this.#wire.rank].count));
    if (this.#isNear(values)) return this.#wire.spread(own, bytesOf(values), where(pieces));
    const [found, places] = together(values, pieces);
    await this.#wire.spread(own, bytesOf(found), places);
    for (const [i, { from, count }] of pieces.entries())
      values.set(found.subarray(places.places[i] / 4, places.places[i] / 4 + count), from);
  }

  #isNear(values: Float32Array): boolean {
    return values.byteLength <= this.#reach;
  }
}

/** Half as many bytes, for a rounding of each number and of the sum. */
class UpperHalves implements Carrier {
  readonly #wire: Wire;
  readonly #most: number;
  readonly #memory: WebAssembly.Memory;
  readonly #kernels: Kernels;
  /** Where halves lie that go out, and those that come in, after numbers of one piece. */
  readonly #out: number;
  readonly #in: number;

  constructor(wire: Wire, { most }: CarrierOptions) {
    this.#wire = wire;
    this.#most = most;
    this.#out = lines(4 * most);
    this.#in = this.#out + lines(2 * most) * wire.size;
    this.#memory = memoryOf(this.#in + lines(2 * most) * wire.size);
    this.#kernels = kernelsOn(this.#memory);
  }

  own(count: number): Float32Array {
    return new Float32Array(this.#memory.buffer, 0, count);
  }

  async sum(values: Float32Array, pieces: readonly Piece[]): Promise<void> {
    const { rank, size } = this.#wire;
    const sent = after(pieces.map(({ count }) => 2 * count));
    for (const [i, { from, count }] of pieces.entries()) {
      this.own(count).set(values.subarray(from, from + count));
      this.#kernels.narrow(this.#out + sent.places[i], 0, count);
    }
    const { count } = pieces[rank];
    await this.#wire.scatter(this.#halves(this.#out), sent, this.#halves(this.#in), inLines(2 * count, size));
    this.#kernels.sumHalves(0, this.#in, count, size, lines(2 * count));
  }

  async share(values: Float32Array, pieces: readonly Piece[]): Promise<void> {
    const own = pieces[this.#wire.rank].count;
    this.#kernels.narrow(this.#out, 0, own);
    const received = after(pieces.map(({ count }) => 2 * count));
    await this.#wire.spread(this.#halves(this.#out).subarray(0, 2 * own), this.#halves(this.#in), received);
    for (const [i, { from, count }] of pieces.entries()) {
      this.#kernels.widen(0, this.#in + received.places[i], count);
      values.set(this.own(count), from);
    }
  }

  #halves(at: number): Uint8Array {
    return new Uint8Array(this.#memory.buffer, at, lines(2 * this.#most) * this.#wire.size);
  }
}

/** As many bytes, up to a whole line of the cache: copies between places that lie alike in theirs are several times as fast as others. */
const lines = (bytes: number): number => 64 * Math.ceil(bytes / 64);

/** Stretches of as many bytes, each at the beginning of a line. */
const inLines = (bytes: number, size: number): Stretches => ({
  places: Int32Array.from({ length: size }, (_, rank) => lines(bytes) * rank),
  counts: new Int32Array(size).fill(bytes),
});

/** Where pieces lie, in bytes. */
const where = (pieces: readonly Piece[]): Stretches => ({
  places: Int32Array.from(pieces, ({ from }) => 4 * from),
  counts: Int32Array.from(pieces, ({ count }) => 4 * count),
});

/** Pieces brought to lie one after the other. */
function together(values: Float32Array, pieces: readonly Piece[]): [Float32Array, Stretches] {
  const places = after(pieces.map(({ count }) => 4 * count));
  const near = new Float32Array(pieces.reduce((sum, { count }) => sum + count, 0));
  for (const [i, { from, count }] of pieces.entries()) near.set(values.subarray(from, from + count), places.places[i] / 4);
  return [near, places];
}
