import type { Arrays } from "../runtime/session.ts";
import { isIdentity } from "./speech.ts";

/** Room grows by this many places at a time, and by a quarter where that is more, up to what a row may have: growing copies everything. */
const step = 64;

interface Kept {
  readonly input: string;
  readonly size: number;
}

/**
 * Keys and values of many rows, for every layer in a buffer [row, head, place, size] of its own, which the engine reads in place.
 * Rows have different lengths; the places after a row's end hold nothing that counts.
 */
export class KeptRows {
  readonly #kept: readonly Kept[];
  readonly #heads: number;
  readonly #longest: number;
  #buffers: Float32Array[];
  #lengths: number[] = [];
  /** How many rows and places there is room for. */
  #room = 0;
  #places = step;
  #views: Arrays | undefined;

  constructor(kept: readonly Kept[], heads: number, longest: number) {
    this.#kept = kept;
    this.#heads = heads;
    this.#longest = longest;
    this.#buffers = kept.map(() => new Float32Array(0));
  }

  get lengths(): readonly number[] {
    return this.#lengths;
  }

  /** How many places of each row the engine is fed. */
  get places(): number {
    return this.#places;
  }

  /** What the engine is fed, by the name of its input: [row, head, place, size], with all places that there is room for. */
  views(): Arrays {
    this.#views ??= Object.fromEntries(
      this.#kept.map(({ input, size }, i) => {
        const shape = [this.#lengths.length, this.#heads, this.#places, size];
        return [input, { dtype: "float32", shape, data: this.#buffers[i].subarray(0, shape[0] * this.#rowLength(size)) }];
      }),
    );
    return this.#views;
  }

  /** Makes room for more rows, of this length. Adding them can fail no more. */
  reserve(rows: number, length: number): void {
    this.#fit(this.#lengths.length + rows, Math.max(longest(this.#lengths), length));
  }

  /** Adds rows with the first `lengths` places of arrays [row, head, place, size], which have the names of the inputs. */
  join(arrays: Arrays, lengths: readonly number[]): void {
    const first = this.#lengths.length;
    this.reserve(lengths.length, longest(lengths));
    this.#lengths = [...this.#lengths, ...lengths];
    this.#views = undefined;
    this.#write(
      arrays,
      first,
      lengths.map(() => 0),
      lengths,
    );
  }

  /** Adds the first `counts` places of arrays [row, head, place, size] to every row, each after its own last. */
  append(arrays: Arrays, counts: readonly number[]): void {
    const lengths = this.#lengths.map((length, row) => length + counts[row]);
    this.#fit(lengths.length, longest(lengths));
    this.#write(arrays, 0, this.#lengths, counts);
    this.#lengths = lengths;
  }

  keep(rows: readonly number[]): void {
    if (isIdentity(rows, this.#lengths.length)) return;
    const lengths = rows.map((row) => this.#lengths[row]);
    const room = Math.max(rows.length, 1);
    this.#move(rows, room, roundedUp(Math.max(longest(lengths), 1)));
    this.#lengths = lengths;
  }

  #rowLength(size: number): number {
    return this.#heads * this.#places * size;
  }

  #fit(rows: number, places: number): void {
    if (rows <= this.#room && places <= this.#places) return;
    const grown = Math.max(places, Math.min(1.25 * this.#places, this.#longest));
    this.#move([...this.#lengths.keys()], Math.max(rows, this.#room), places > this.#places ? roundedUp(grown) : this.#places);
  }

  /** Copies these rows into new buffers with this much room. The old ones stay until all new ones are there: twice the memory, or nothing happens. */
  #move(rows: readonly number[], room: number, places: number): void {
    this.#buffers = this.#buffers.map((old, i) => {
      const { size } = this.#kept[i];
      const moved = new Float32Array(room * this.#heads * places * size);
      for (const [to, from] of rows.entries())
        for (let head = 0; head < this.#heads; head++) {
          const start = (from * this.#heads + head) * this.#places * size;
          moved.set(old.subarray(start, start + this.#lengths[from] * size), (to * this.#heads + head) * places * size);
        }
      return moved;
    });
    this.#room = room;
    this.#places = places;
    this.#views = undefined;
  }

  /** Writes the first `counts` places of arrays [row, head, place, size] into rows from `first` on, each from its place in `at`. */
  #write(arrays: Arrays, first: number, at: readonly number[], counts: readonly number[]): void {
    for (const [i, { input, size }] of this.#kept.entries()) {
      const { data, shape } = arrays[input];
      const given = shape[2] * size;
      for (const [row, count] of counts.entries())
        for (let head = 0; head < this.#heads; head++) {
          const from = (row * this.#heads + head) * given;
          const to = ((first + row) * this.#heads + head) * this.#places * size + at[row] * size;
          copy(data as Float32Array, from, count * size, this.#buffers[i], to);
        }
    }
  }
}

/** A loop is faster than a view for the few numbers of one place, and there are thousands of them in every step. */
function copy(source: Float32Array, from: number, length: number, target: Float32Array, to: number): void {
  if (length > 512) target.set(source.subarray(from, from + length), to);
  else for (let i = 0; i < length; i++) target[to + i] = source[from + i];
}

/** A loop, for there may be more rows than a call can have arguments. */
const longest = (lengths: readonly number[]): number => lengths.reduce((most, length) => Math.max(most, length), 0);

const roundedUp = (places: number): number => Math.ceil(places / step) * step;
