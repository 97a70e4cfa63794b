// Which blocks of the data are free. A block that the index on the disk may refer to is not given out again before another index stands there:
// whatever moment a crash chooses, what the index says is still there.

export const blockBytes = 4096;
export const blocksOf = (bytes: number): number => Math.ceil(bytes / blockBytes);

/** Neighbouring blocks. */
export interface Extent {
  readonly first: number;
  readonly count: number;
}

/** Holes below this are passed over by what needs more than they have, so that a large file lies in few pieces. */
const smallestPiece = 256;
/** So many free blocks at the end are given back to the browser; fewer will be wanted again soon. */
const mostSpare = 4096;

export class Blocks {
  /** In their order, never touching each other. */
  #free: Extent[];
  #waiting: Extent[] = [];
  /** Where the data ends. */
  #end: number;

  constructor(used: readonly Extent[]) {
    const sorted = used.toSorted((a, b) => a.first - b.first);
    this.#free = [];
    this.#end = 0;
    for (const { first, count } of sorted) {
      if (first > this.#end) this.#free.push({ first: this.#end, count: first - this.#end });
      this.#end = Math.max(this.#end, first + count);
    }
  }

  get end(): number {
    return this.#end;
  }

  /** Blocks that nobody has: those behind `after` if they are free, else in as few pieces as there are. */
  take(count: number, after?: number): Extent[] {
    const taken: Extent[] = [];
    for (let left = count; left > 0; ) {
      const next: number | undefined = taken.length === 0 ? after : undefined;
      const extent = this.#takeAt(next, left) ?? this.#takeFrom(left);
      taken.push(extent);
      left -= extent.count;
    }
    return taken;
  }

  /** Free blocks before a place, at most so many, if there are any. */
  takeBefore(place: number, most: number): Extent | undefined {
    const [hole] = this.#free;
    return hole !== undefined && hole.first < place ? this.#cut(0, Math.min(most, place - hole.first)) : undefined;
  }

  /** Blocks that are free now. */
  get unused(): number {
    return countOf(this.#free);
  }

  /** They are free when the next index is on the disk. */
  give(extents: readonly Extent[]): void {
    for (const extent of extents) if (extent.count > 0) this.#waiting.push(extent);
  }

  /** The index on the disk refers to none of those that wait. Gives back whether the data may be cut off behind its end. */
  settle(spare = mostSpare): boolean {
    if (this.#waiting.length > 0) this.#free = joined([...this.#free, ...this.#waiting]);
    this.#waiting = [];
    const last = this.#free.at(-1);
    if (last === undefined || last.first + last.count !== this.#end || last.count < spare) return false;
    this.#free.pop();
    this.#end = last.first;
    return true;
  }

  #takeAt(at: number | undefined, most: number): Extent | undefined {
    if (at === undefined) return undefined;
    if (at === this.#end) return this.#grow(most);
    const place = this.#free.findIndex(({ first }) => first === at);
    return place < 0 ? undefined : this.#cut(place, most);
  }

  #takeFrom(wanted: number): Extent {
    let place = this.#free.findIndex(({ count }) => count >= wanted);
    if (place < 0) {
      const largest = this.#free.reduce((best, { count }, i) => (count > (this.#free[best]?.count ?? 0) ? i : best), -1);
      if (largest >= 0 && this.#free[largest].count >= smallestPiece) place = largest;
    }
    return place < 0 ? this.#grow(wanted) : this.#cut(place, wanted);
  }

  #grow(count: number): Extent {
    const first = this.#end;
    this.#end += count;
    return { first, count };
  }

  #cut(place: number, most: number): Extent {
    const { first, count } = this.#free[place];
    if (count <= most) return this.#free.splice(place, 1)[0];
    this.#free[place] = { first: first + most, count: count - most };
    return { first, count: most };
  }
}

/** The same blocks in their order and in as few pieces as can be. */
function joined(extents: readonly Extent[]): Extent[] {
  const result: Extent[] = [];
  for (const extent of extents.toSorted((a, b) => a.first - b.first)) {
    const last = result.at(-1);
    if (last !== undefined && last.first + last.count === extent.first)
      result[result.length - 1] = { first: last.first, count: last.count + extent.count };
    else result.push(extent);
  }
  return result;
}

export const countOf = (extents: readonly Extent[]): number => extents.reduce((sum, { count }) => sum + count, 0);

/** A stretch of the blocks of a file, counted from its beginning. */
export function sliced(extents: readonly Extent[], from: number, to: number): Extent[] {
  const result: Extent[] = [];
  let at = 0;
  for (const { first, count } of extents) {
    const [begin, end] = [Math.max(from, at), Math.min(to, at + count)];
    if (begin < end) result.push({ first: first + begin - at, count: end - begin });
    at += count;
  }
  return result;
}

/** Extents one behind the other; those that are neighbours become one. */
export function followed(...lists: readonly (readonly Extent[])[]): Extent[] {
  const result: Extent[] = [];
  for (const extent of lists.flat()) {
    const last = result.at(-1);
    if (last !== undefined && last.first + last.count === extent.first)
      result[result.length - 1] = { first: last.first, count: last.count + extent.count };
    else if (extent.count > 0) result.push(extent);
  }
  return result;
}
