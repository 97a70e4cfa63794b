import { type Carrier, type Compression, carriers, type Piece } from "./carrier.ts";
import { after, bytesOf, type Wire } from "./wire.ts";

// Those who train one model together. Each computes a part of every batch, and all take the same step. What is summed is added in the order
// of ranks, whatever carries it, so the bits depend on how many they are and on nothing else.

export interface GroupOptions {
  /** Of sums that are only passed on to others; none if left out. */
  readonly compress?: Compression;
  /** Of each rank; the same for all, if left out. */
  readonly hosts?: readonly string[];
  /** Seconds. */
  readonly clock?: () => number;
  /** Numbers that are on their way to one rank at once, and bytes in which a place can be named: in 32 bits, if left out. */
  readonly most?: number;
  readonly reach?: number;
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
/** And where a sum is to go on with as little help as can be: 1 GiB. */
const mostAtOnce = 2 ** 28;

export class Group {
  readonly rank: number;
  readonly size: number;
  readonly hosts: readonly string[];
  readonly #wire: Wire | undefined;
  readonly #compress: Compression;
  readonly #clock: () => number;
  /** Numbers of a piece. */
  readonly #most: number;
  readonly #reach: number;
  readonly #carriers = new Map<string, Carrier>();
  #seconds = 0;
  /** What was begun last: calls follow each other, however they are made. */
  #last: Promise<void> = Promise.resolve();

  constructor(wire: Wire | undefined, options: GroupOptions = {}) {
    const { compress = "none", hosts = [], clock = () => 0, most = mostOnTheWay, reach = 2 ** 31 - 1 } = options;
    this.#wire = wire;
    this.rank = wire?.rank ?? 0;
    this.size = wire?.size ?? 1;
    this.#compress = compress;
    this.#clock = clock;
    this.#most = Math.ceil(most / this.size);
    this.#reach = reach;
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
  sum(values: Float32Array): Promise<void> {
    return this.#carried(values, this.#compress, (carrier, pieces) => summed(carrier, values, pieces));
  }

  /**
   * The sum over all ranks, in place, begins now, in pieces as large as they can be, so that few of them need this thread while it computes. What is given back waits
   * for the end, and only that time counts. Until then, the numbers are nobody else's.
   */
  begin(values: Float32Array): () => Promise<void> {
    const most = Math.ceil(Math.min(values.length + this.size * stretch, mostAtOnce) / this.size);
    const going = this.#carried(values, this.#compress, (carrier, pieces) => summed(carrier, values, pieces), { most, counts: false });
    going.catch(() => {}); // whoever waits is told
    return () => this.#counted(() => going);
  }

  /** Gives back what exchanges have taken of memory; the next take it again. */
  forget(): void {
    this.#carriers.clear();
  }

  /** Own part becomes the sum of everybody's; the rest is as it was. */
  reduce(values: Float32Array): Promise<void> {
    return this.#carried(values, this.#compress, async (carrier, pieces) => {
      await carrier.sum(values, pieces);
      const { from, count } = pieces[this.rank];
      values.set(carrier.own(count), from);
    });
  }

  /** Everybody's part comes to all, as it is. */
  share(values: Float32Array): Promise<void> {
    return this.#carried(values, "none", async (carrier, pieces) => {
      const { from, count } = pieces[this.rank];
      carrier.own(count).set(values.subarray(from, from + count));
      await carrier.share(values, pieces);
    });
  }

  /** Works on pieces, one after the other. */
  #carried(
    values: Float32Array,
    how: Compression,
    work: (carrier: Carrier, pieces: readonly Piece[]) => Promise<void>,
    { most = this.#most, counts = true } = {},
  ): Promise<void> {
    const carry = async (wire: Wire) => {
      const key = `${how} ${most}`;
      const carrier = this.#carriers.get(key) ?? carriers[how](wire, { most, reach: this.#reach });
      this.#carriers.set(key, carrier);
      for (const pieces of this.#pieces(values.length, most)) await work(carrier, pieces);
    };
    return counts ? this.#timed(carry) : this.#inTurn(carry);
  }

  /** A piece of every part at a time. */
  *#pieces(count: number, most: number): Generator<readonly Piece[]> {
    const parts = Array.from({ length: this.size }, (_, r) => partOf(count, r, this.size));
    const longest = Math.max(...parts.map(({ from, to }) => to - from));
    for (let done = 0; done < longest; done += most)
      yield parts.map(({ from, to }) => ({ from: Math.min(to, from + done), count: Math.max(0, Math.min(most, to - from - done)) }));
  }

  #timed(work: (wire: Wire) => Promise<void>): Promise<void> {
    return this.#counted(() => this.#inTurn(work));
  }

  async #counted(work: () => Promise<void>): Promise<void> {
    const begin = this.#clock();
    await work();
    this.#seconds += this.#clock() - begin;
  }

  /** After all that was begun before. Alone there is nobody to ask. */
  #inTurn(work: (wire: Wire) => Promise<void>): Promise<void> {
    const wire = this.#wire;
    if (!wire) return Promise.resolve();
    const turn = this.#last.then(() => work(wire));
    this.#last = turn.catch(() => {}); // whoever made the call is told
    return turn;
  }
}

/** A piece of a sum over all ranks. */
async function summed(carrier: Carrier, values: Float32Array, pieces: readonly Piece[]): Promise<void> {
  await carrier.sum(values, pieces);
  await carrier.share(values, pieces);
}

/** What ranks found, each of some places, as everything that was found, in the order of places; it goes through JSON. */
export async function allFound<Item>(group: Group, own: ReadonlyMap<number, Item>): Promise<Item[]> {
  const found =
    group.size === 1 ? [...own] : (await group.exchange(JSON.stringify([...own]))).flatMap((text) => JSON.parse(text) as [number, Item][]);
  return found.sort(([a], [b]) => a - b).map(([, item]) => item);
}

/** This process, by itself. */
export const alone = new Group(undefined);
