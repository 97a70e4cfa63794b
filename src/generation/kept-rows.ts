import type { Arrays } from "../runtime/session.ts";
import { isIdentity } from "./speech.ts";

/** Room grows by this many places at a time, and by a quarter where that is more, up to what a row may have: growing copies everything. */
const step = 64;

/** Rows that come one by one are not copied for every one: there is room for half as many again. */
const growth = 1.5;

interface Kept {
  readonly input: string;
  readonly size: number;
}

/**
 * Keys and values of many rows, for every layer in a buffer [row, head, place, size] of its own, which the engine reads in place.
 * Rows have different lengths; the places after a row's end hold nothing that counts, and no number that is not finite: 0 · NaN is NaN.
 * While room grows or shrinks, old and new buffers are there: at most twice what rows hold, since room that is not used is not touched.
 */
export class KeptRows {
  readonly #kept: readonly Kept[];
  readonly #heads: number;
  readonly #longest: number;
  #buffers: Float32Array[];
  #lengths: number[] = [];
  /** Of each row that there is room for, how many places may hold something: its own, or of somebody who was there before. */
  #written: number[] = [];
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

  /** What all buffers take, used or not. */
  get bytes(): number {
    return this.#buffers.reduce((sum, { byteLength }) => sum + byteLength, 0);
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

  /** Adds rows with the first `lengths` places of arrays [row, head, place, size], which have the names of the inputs: of all rows of theirs, or of these. */
  join(arrays: Arrays, lengths: readonly number[], rows: readonly number[] = [...lengths.keys()]): void {
    const first = this.#lengths.length;
    this.reserve(lengths.length, longest(lengths));
    for (const [i, length] of lengths.entries()) {
      this.#write(arrays, rows[i], first + i, 0, length);
      this.#clean(first + i, length);
    }
    this.#lengths = [...this.#lengths, ...lengths];
    this.#views = undefined;
  }

  /** Adds the first `counts` places of arrays [row, head, place, size] to every row, each after its own last. */
  append(arrays: Arrays, counts: readonly number[]): void {
    const lengths = this.#lengths.map((length, row) => length + counts[row]);
    this.#fit(lengths.length, longest(lengths));
    for (const [row, count] of counts.entries()) {
      this.#write(arrays, row, row, this.#lengths[row], count);
      this.#written[row] = lengths[row];
    }
    this.#lengths = lengths;
  }

  /**
   * Goes on with these rows. Only rows that change their place are copied, but where much room is unused: the engine reads all places, so
   * half of them is much; rows that are not there it does not read, so of all room three quarters.
   */
  keep(rows: readonly number[]): void {
    if (isIdentity(rows, this.#lengths.length)) return;
    if (rows.length === 0) this.#empty();
    else this.#pick(rows);
  }

  #pick(rows: readonly number[]): void {
    const lengths = rows.map((row) => this.#lengths[row]);
    const places = roundedUp(Math.max(longest(lengths), 1));
    const isRoomy = 2 * places <= this.#places || 4 * rows.length * places <= this.#room * this.#places;
    const moves = rows.length > this.#room || isRoomy ? undefined : movesOf(rows);
    if (moves) for (const { from, to } of moves) this.#copyRow(from, to);
    else this.#move(rows, rows.length, places);
    this.#lengths = lengths;
    this.#views = undefined;
  }

  #empty(): void {
    this.#buffers = this.#kept.map(() => new Float32Array(0));
    this.#lengths = [];
    this.#written = [];
    this.#room = 0;
    this.#places = step;
    this.#views = undefined;
  }

  #rowLength(size: number): number {
    return this.#heads * this.#places * size;
  }

  #fit(rows: number, places: number): void {
    if (rows <= this.#room && places <= this.#places) return;
    const grown = Math.max(places, Math.min(1.25 * this.#places, this.#longest));
    const room = rows <= this.#room ? this.#room : Math.max(rows, Math.ceil(growth * this.#room));
    this.#move([...this.#lengths.keys()], room, places > this.#places ? roundedUp(grown) : this.#places);
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
    this.#written = rows.map((row) => this.#lengths[row]);
    this.#room = room;
    this.#places = places;
    this.#views = undefined;
  }

  /** One row in the place of another, whose last places are cleaned. */
  #copyRow(from: number, to: number): void {
    for (const [i, { size }] of this.#kept.entries())
      for (let head = 0; head < this.#heads; head++) {
        const start = (from * this.#heads + head) * this.#places * size;
        this.#buffers[i].copyWithin((to * this.#heads + head) * this.#places * size, start, start + this.#lengths[from] * size);
      }
    this.#clean(to, this.#lengths[from]);
  }

  /** What somebody else has left after a row's end goes. */
  #clean(row: number, length: number): void {
    const end = this.#written[row] ?? 0;
    this.#written[row] = length;
    if (end <= length) return;
    for (const [i, { size }] of this.#kept.entries())
      for (let head = 0; head < this.#heads; head++) {
        const start = (row * this.#heads + head) * this.#places;
        this.#buffers[i].fill(0, (start + length) * size, (start + end) * size);
      }
  }

  /** Writes the first `count` places of a row of arrays [row, head, place, size] into a row of ours, from a place on. */
  #write(arrays: Arrays, row: number, into: number, at: number, count: number): void {
    if (count === 0) return;
    for (const [i, { input, size }] of this.#kept.entries()) {
      const { data, shape } = arrays[input];
      for (let head = 0; head < this.#heads; head++) {
        const from = (row * this.#heads + head) * shape[2] * size;
        const to = ((into * this.#heads + head) * this.#places + at) * size;
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

interface Move {
  readonly from: number;
  readonly to: number;
}

/** In which order rows are copied over each other, so that none is overwritten before it is read. None, where they change places in a circle. */
function movesOf(rows: readonly number[]): readonly Move[] | undefined {
  const all = rows.map((from, to): Move => ({ from, to })).filter(({ from, to }) => from !== to);
  const into = new Map(all.map((move) => [move.to, move]));
  const readers = new Map<number, number>();
  for (const { from } of all) readers.set(from, (readers.get(from) ?? 0) + 1);
  const ready = all.filter(({ to }) => !readers.has(to));
  const found: Move[] = [];
  for (let move = ready.pop(); move; move = ready.pop()) {
    found.push(move);
    const left = (readers.get(move.from) ?? 0) - 1;
    readers.set(move.from, left);
    const freed = into.get(move.from);
    if (left === 0 && freed) ready.push(freed);
  }
  return found.length === all.length ? found : undefined;
}

/** A loop, for there may be more rows than a call can have arguments. */
const longest = (lengths: readonly number[]): number => lengths.reduce((most, length) => Math.max(most, length), 0);

const roundedUp = (places: number): number => Math.ceil(places / step) * step;

/** What arrays take. */
export const bytesOf = (arrays: Arrays = {}): number => Object.values(arrays).reduce((sum, { data }) => sum + data.byteLength, 0);

/** Whether the first places of a row of arrays [row, head, place, size] hold nothing but finite numbers. */
export function finiteRow(arrays: Arrays, kept: readonly Kept[], row: number, length: number): boolean {
  let sum = 0; // 0 · NaN and 0 · ∞ are NaN, and stay it: much faster than asking of every number
  for (const { input, size } of kept) {
    const { data, shape } = arrays[input];
    const [, heads, places] = shape;
    for (let head = 0; head < heads; head++) {
      const start = (row * heads + head) * places * size;
      for (let i = start; i < start + length * size; i++) sum += 0 * (data as Float32Array)[i];
    }
  }
  return sum === 0;
}
