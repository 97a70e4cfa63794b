// Those who train one model together. Each computes a part of every batch, and all take the same step. What is summed is added in the order
// of ranks, whatever carries it, so the bits depend on how many they are and on nothing else.

/** Where stretches of bytes begin, and how long they are: one for each rank. */
export interface Stretches {
  readonly places: Int32Array;
  readonly counts: Int32Array;
}

/** What carries bytes between ranks. Every call is made by all of them, in the same order. */
export interface Wire {
  readonly rank: number;
  readonly size: number;
  /** Seconds after which one who has not answered counts as gone; for ever, if left out. */
  patience?: number | undefined;
  /** A stretch of what is sent goes to each rank, and one comes from each. */
  scatter(send: Uint8Array, sent: Stretches, into: Uint8Array, received: Stretches): Promise<void>;
  /** Own bytes go to everybody, and everybody's come here. */
  spread(own: Uint8Array, into: Uint8Array, received: Stretches): Promise<void>;
  /** The bytes of rank 0 are everybody's. */
  broadcast(bytes: Uint8Array): Promise<void>;
}

/** How numbers travel: as they are, or with the upper half of their bits. */
export const compressions = ["none", "bf16"] as const;
export type Compression = (typeof compressions)[number];

export interface GroupOptions {
  /** Of sums that are only passed on to others; none if left out. */
  readonly compress?: Compression;
  /** Of each rank; the same for all, if left out. */
  readonly hosts?: readonly string[];
  /** Seconds. */
  readonly clock?: () => number;
}

/** A stretch of a flat buffer. */
export interface Part {
  readonly from: number;
  readonly to: number;
}

/** Parts begin at whole stretches of the sum of squares. */
const stretch = 4096;

/** The part of `count` numbers that a rank adds up, and whose optimizer state it may keep alone. */
export function partOf(count: number, rank: number, size: number): Part {
  const stretches = Math.ceil(count / stretch);
  const at = (r: number) => Math.min(count, stretch * Math.floor((stretches * r) / size));
  return { from: at(rank), to: at(rank + 1) };
}

/** Numbers that are on their way to one rank at once. */
export const mostOnTheWay = 2 ** 22;

export class Group {
  readonly rank: number;
  readonly size: number;
  readonly hosts: readonly string[];
  readonly #wire: Wire | undefined;
  readonly #compress: Compression;
  readonly #clock: () => number;
  #seconds = 0;
  #incoming = new Uint8Array(0);

  constructor(wire: Wire | undefined, { compress = "none", hosts = [], clock = () => 0 }: GroupOptions = {}) {
    this.#wire = wire;
    this.rank = wire?.rank ?? 0;
    this.size = wire?.size ?? 1;
    this.#compress = compress;
    this.#clock = clock;
    this.hosts = hosts.length > 0 ? hosts : new Array<string>(this.size).fill("here");
  }

  /** Seconds that went into all this so far, waiting included. */
  get seconds(): number {
    return this.#seconds;
  }

  /** From now on one who does not answer for so many seconds counts as gone; left out, everybody is waited for. */
  patient(seconds?: number): void {
    if (this.#wire) this.#wire.patience = seconds;
  }

  /** Rank 0 prints, logs and saves. */
  get leads(): boolean {
    return this.rank === 0;
  }

  /** What everybody says, in the order of ranks; all say as much. */
  async gather(own: Float64Array): Promise<readonly Float64Array[]> {
    const all = new Float64Array(own.length * this.size);
    all.set(own);
    const counts = new Array<number>(this.size).fill(own.byteLength);
    await this.#timed((wire) => wire.spread(bytesOf(own), bytesOf(all), after(counts)));
    return counts.map((_, r) => all.subarray(r * own.length, (r + 1) * own.length));
  }

  /** The texts of all, in the order of ranks. */
  async exchange(text: string): Promise<readonly string[]> {
    return (await this.collect(new TextEncoder().encode(text))).map((bytes) => new TextDecoder().decode(bytes));
  }

  /** The bytes of all, in the order of ranks; each may have as many as it likes. */
  async collect(own: Uint8Array): Promise<readonly Uint8Array[]> {
    const received = after((await this.gather(Float64Array.of(own.length))).map(([count]) => count));
    const all = new Uint8Array(received.counts.reduce((a, b) => a + b, 0));
    all.set(own);
    await this.#timed((wire) => wire.spread(own, all, received));
    return Array.from(received.counts, (count, r) => all.slice(received.places[r], received.places[r] + count));
  }

  /** What rank 0 says. */
  async told(text: string): Promise<string> {
    return (await this.exchange(this.leads ? text : ""))[0];
  }

  /** The numbers of rank 0 are everybody's. */
  broadcast(values: Float32Array): Promise<void> {
    const bytes = bytesOf(values);
    return this.#timed(async (wire) => {
      for (let at = 0; at < bytes.length; at += 4 * mostOnTheWay) await wire.broadcast(bytes.subarray(at, at + 4 * mostOnTheWay));
    });
  }

  /** Everybody has come this far. */
  async meet(): Promise<void> {
    await this.gather(new Float64Array(1));
  }

  /** The sum over all ranks, in place. */
  async sum(values: Float32Array): Promise<void> {
    await this.reduce(values);
    await this.share(values, this.#compress);
  }

  /** Own part becomes the sum of everybody's; the rest is as it was. */
  reduce(values: Float32Array): Promise<void> {
    const { rank, size } = this;
    const pack = packings[this.#compress];
    return this.#timed(async (wire) => {
      for (const pieces of this.#pieces(values.length)) {
        const { from, count } = pieces[rank];
        const received = after(new Array<number>(size).fill(pack.bytes * count));
        const into = this.#room(pack.bytes * count * size);
        const { bytes, sent } = pack.outgoing(values, pieces);
        await wire.scatter(bytes, sent, into, received);
        const sum = values.subarray(from, from + count);
        for (const [r, place] of received.places.entries()) add(sum, pack.incoming(into, place, count), r === 0);
      }
    });
  }

  /** Everybody's part comes to all. */
  share(values: Float32Array, compress: Compression = "none"): Promise<void> {
    const pack = packings[compress];
    return this.#timed(async (wire) => {
      for (const pieces of this.#pieces(values.length)) {
        const { from: at, count: length } = pieces[this.rank];
        const { bytes: own } = pack.outgoing(values.slice(at, at + length), [{ from: 0, count: length }]);
        const received = after(pieces.map(({ count }) => pack.bytes * count));
        const into = this.#room(pack.bytes * pieces.reduce((sum, { count }) => sum + count, 0));
        await wire.spread(own, into, received);
        for (const [r, { from, count }] of pieces.entries()) values.set(pack.incoming(into, received.places[r], count), from);
      }
    });
  }

  /** Bytes for what comes in, the same ones every time. */
  #room(bytes: number): Uint8Array {
    if (this.#incoming.length < bytes) this.#incoming = new Uint8Array(bytes);
    return this.#incoming.subarray(0, bytes);
  }

  /** A piece of every part at a time. */
  *#pieces(count: number): Generator<readonly Piece[]> {
    const parts = Array.from({ length: this.size }, (_, r) => partOf(count, r, this.size));
    const longest = Math.max(...parts.map(({ from, to }) => to - from));
    const most = Math.ceil(mostOnTheWay / this.size);
    for (let done = 0; done < longest; done += most)
      yield parts.map(({ from, to }) => ({ from: Math.min(to, from + done), count: Math.max(0, Math.min(most, to - from - done)) }));
  }

  /** Alone there is nobody to ask. */
  async #timed(work: (wire: Wire) => Promise<void>): Promise<void> {
    if (!this.#wire) return;
    const begin = this.#clock();
    await work(this.#wire);
    this.#seconds += this.#clock() - begin;
  }
}

/** What ranks found, each of some places, as everything that was found, in the order of places; it goes through JSON. */
export async function allFound<Item>(group: Group, own: ReadonlyMap<number, Item>): Promise<Item[]> {
  const found =
    group.size === 1 ? [...own] : (await group.exchange(JSON.stringify([...own]))).flatMap((text) => JSON.parse(text) as [number, Item][]);
  return found.sort(([a], [b]) => a - b).map(([, item]) => item);
}

/** This process, by itself. */
export const alone = new Group(undefined);

interface Piece {
  readonly from: number;
  readonly count: number;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength);

/** Stretches that lie one after the other. */
function after(counts: readonly number[]): Stretches {
  let at = 0;
  const places = counts.map((count) => {
    at += count;
    return at - count;
  });
  return { places: Int32Array.from(places), counts: Int32Array.from(counts) };
}

/** Each addition is rounded, in the order in which it is made. The first is to nothing. */
function add(sum: Float32Array, more: Float32Array, first: boolean): void {
  if (first) for (let i = 0; i < sum.length; i++) sum[i] = 0 + more[i];
  else for (let i = 0; i < sum.length; i++) sum[i] += more[i];
}

/** How numbers lie while they are on their way. */
interface Packing {
  readonly bytes: number;
  outgoing(values: Float32Array, pieces: readonly Piece[]): { readonly bytes: Uint8Array; readonly sent: Stretches };
  incoming(bytes: Uint8Array, place: number, count: number): Float32Array;
}

/** Places are counted in 32 bits: what lies farther is brought together first. */
const farthest = 2 ** 31;

const packings: Readonly<Record<Compression, Packing>> = {
  none: {
    bytes: 4,
    outgoing(values, pieces) {
      const counts = pieces.map(({ count }) => 4 * count);
      if (values.byteLength < farthest)
        return {
          bytes: bytesOf(values),
          sent: { places: Int32Array.from(pieces, ({ from }) => 4 * from), counts: Int32Array.from(counts) },
        };
      const sent = after(counts);
      const together = new Float32Array(pieces.reduce((sum, { count }) => sum + count, 0));
      for (const [i, { from, count }] of pieces.entries()) together.set(values.subarray(from, from + count), sent.places[i] / 4);
      return { bytes: bytesOf(together), sent };
    },
    incoming: ({ buffer, byteOffset }, place, count) => new Float32Array(buffer, byteOffset + place, count),
  },
  bf16: {
    bytes: 2,
    outgoing(values, pieces) {
      const sent = after(pieces.map(({ count }) => 2 * count));
      const halves = new Uint16Array(pieces.reduce((sum, { count }) => sum + count, 0));
      const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
      for (const [i, { from, count }] of pieces.entries())
        for (let k = 0, at = sent.places[i] / 2; k < count; k++) halves[at + k] = upperHalf(bits[from + k]);
      return { bytes: bytesOf(halves), sent };
    },
    incoming({ buffer, byteOffset }, place, count) {
      const halves = new Uint16Array(buffer, byteOffset + place, count);
      const values = new Float32Array(count);
      const bits = new Uint32Array(values.buffer);
      for (let i = 0; i < count; i++) bits[i] = halves[i] << 16;
      return values;
    },
  },
};

/** The nearest number with the upper 16 bits alone, the even one of two that are as near; what is no number stays none. */
const upperHalf = (bits: number): number => ((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16);
