import { type Blocks, blockBytes, blocksOf, countOf, type Extent, followed, sliced } from "./blocks.ts";
import type { Content } from "./content.ts";
import type { Handle } from "./handle.ts";

/** Where contents lie, and who must hear that one has changed. */
export interface Store {
  readonly data: Handle;
  readonly blocks: Blocks;
  changed(): void;
}

/** A file that grows is given so many blocks more than it needs, at most, so that two that grow together lie in few pieces. */
const mostAhead = 256;

/**
 * Bytes in blocks of the data. What the index on the disk refers to is never written over: a change of such a block goes to another one, and
 * becomes true with the next index. So after a crash a file is what it was when an index was written, never half of it.
 */
export class StoredContent implements Content {
  readonly #store: Store;
  #extents: readonly Extent[];
  #size: number;
  /** What the index on the disk refers to. */
  #kept: { readonly extents: readonly Extent[]; readonly size: number };
  #changed = false;
  #known: boolean;

  /** New, or as an index has it. */
  constructor(store: Store, found?: { readonly extents: readonly Extent[]; readonly size: number }) {
    this.#store = store;
    this.#known = found !== undefined;
    this.#kept = found ?? { extents: [], size: 0 };
    this.#size = this.#kept.size;
    this.#extents = this.#kept.extents;
  }

  get size(): number {
    return this.#size;
  }

  /** The blocks that hold it, without those that are held for more. */
  get extents(): readonly Extent[] {
    return sliced(this.#extents, 0, blocksOf(this.#size));
  }

  /** Whether the index on the disk has it, and says something else of it. */
  get outdated(): boolean {
    return this.#known && this.#changed;
  }

  /** An index is about to be written that refers to what it is now: whether it came to the disk is not known before the end. */
  offered(): void {
    if (!this.#changed) return;
    this.#kept = { extents: [...this.#kept.extents, ...this.extents], size: Math.max(this.#kept.size, this.#size) };
  }

  /** That index is on the disk. */
  accepted(): void {
    this.#known = true;
    if (!this.#changed) return;
    this.#kept = { extents: this.extents, size: this.#size };
    this.#changed = false;
  }

  read(into: Uint8Array, at: number): number {
    const count = Math.max(0, Math.min(into.length, this.#size - at));
    let done = 0;
    for (const { place, bytes } of placesOf(this.#extents, at, count)) {
      const came = this.#store.data.read(into.subarray(done, done + bytes), place);
      done += came;
      if (came < bytes) break; // somebody cut off the data: whoever reads will miss it
    }
    return done;
  }

  write(from: Uint8Array, at: number): void {
    if (from.length === 0) return;
    if (at > this.#size) this.#zeros(at);
    const end = at + from.length;
    this.#reserve(end);
    this.#leaveKept(at, end);
    this.#put(from, at);
    this.#size = Math.max(this.#size, end);
    this.#told();
  }

  resize(size: number): void {
    if (size > this.#size) this.#zeros(size);
    else if (size < this.#size) {
      const blocks = blocksOf(size);
      this.#store.blocks.give(sliced(this.#extents, blocks, Number.POSITIVE_INFINITY));
      this.#extents = sliced(this.#extents, 0, blocks);
      this.#size = size;
      this.#told();
    }
  }

  trim(): void {
    const used = this.extents;
    if (countOf(used) === countOf(this.#extents)) return;
    this.#store.blocks.give(sliced(this.#extents, blocksOf(this.#size), Number.POSITIVE_INFINITY));
    this.#extents = used;
  }

  release(): void {
    this.#store.blocks.give(this.#extents);
    this.#extents = [];
    this.#size = 0;
    this.#told();
  }

  /** Moves what lies behind a place of the data into holes before it, as far as there are any. */
  moveBefore(place: number): void {
    const { blocks, data } = this.#store;
    const piece = new Uint8Array(2 ** 20);
    for (let block = 0; block < countOf(this.#extents); ) {
      const [{ first, count }] = sliced(this.#extents, block, Number.POSITIVE_INFINITY);
      const outside = first + count - Math.max(first, place);
      const from = block + count - outside;
      const hole = outside > 0 ? blocks.takeBefore(place, Math.min(outside, piece.length / blockBytes)) : undefined;
      if (hole === undefined) {
        block += count;
        continue;
      }
      const old = sliced(this.#extents, from, from + hole.count);
      const bytes = piece.subarray(0, hole.count * blockBytes);
      data.write(bytes.subarray(0, data.read(bytes, old[0].first * blockBytes)), hole.first * blockBytes);
      this.#extents = followed(sliced(this.#extents, 0, from), [hole], sliced(this.#extents, from + hole.count, Number.POSITIVE_INFINITY));
      blocks.give(old);
      this.#told();
      block = from + hole.count;
    }
  }

  #told(): void {
    this.#changed = true;
    this.#store.changed();
  }

  #zeros(to: number): void {
    const zeros = new Uint8Array(Math.min(to - this.#size, 2 ** 20));
    while (this.#size < to) this.write(zeros.subarray(0, Math.min(zeros.length, to - this.#size)), this.#size);
  }

  #reserve(bytes: number): void {
    const has = countOf(this.#extents);
    const missing = blocksOf(bytes) - has;
    if (missing <= 0) return;
    const last = this.#extents.at(-1);
    const more = this.#store.blocks.take(missing + Math.min(has, mostAhead), last && last.first + last.count);
    this.#extents = followed(this.#extents, more);
  }

  /** Blocks of a stretch that the index on the disk refers to are left as they are, and others are written in their place. */
  #leaveKept(at: number, end: number): void {
    const to = Math.min(end, this.#kept.size); // behind that size nothing of a block counts
    for (let block = Math.floor(at / blockBytes); block * blockBytes < to; block++) {
      const [old] = sliced(this.#extents, block, block + 1);
      if (!this.#kept.extents.some(({ first, count }) => old.first >= first && old.first < first + count)) continue;
      const bytes = new Uint8Array(blockBytes);
      const whole = at <= block * blockBytes && end >= Math.min((block + 1) * blockBytes, this.#size);
      const fresh = this.#store.blocks.take(1);
      if (!whole)
        this.#store.data.write(bytes.subarray(0, this.#store.data.read(bytes, old.first * blockBytes)), fresh[0].first * blockBytes);
      const before = sliced(this.#extents, 0, block);
      this.#extents = followed(before, fresh, sliced(this.#extents, block + 1, Number.POSITIVE_INFINITY));
      this.#store.blocks.give([old]);
    }
  }

  #put(from: Uint8Array, at: number): void {
    let done = 0;
    for (const { place, bytes } of placesOf(this.#extents, at, from.length)) {
      this.#store.data.write(from.subarray(done, done + bytes), place);
      done += bytes;
    }
  }
}

/** Where a stretch of a file lies in the data. */
function* placesOf(extents: readonly Extent[], at: number, count: number): Generator<{ place: number; bytes: number }> {
  let begin = 0;
  for (const { first, count: blocks } of extents) {
    const end = begin + blocks * blockBytes;
    const [from, to] = [Math.max(at, begin), Math.min(at + count, end)];
    if (from < to) yield { place: first * blockBytes + from - begin, bytes: to - from };
    begin = end;
  }
}
