import { Group, type GroupOptions } from "../../src/training/group.ts";
import type { Stretches, Wire } from "../../src/training/wire.ts";

// Ranks in one process: what they send to each other is copied when the last of them has come.

class Meeting {
  readonly #size: number;
  #come: { readonly rank: number; readonly bytes: Uint8Array; readonly sent: Stretches | undefined }[] = [];
  #waiting: ((all: readonly (typeof this.Come)[]) => void)[] = [];
  declare readonly Come: { readonly rank: number; readonly bytes: Uint8Array; readonly sent: Stretches | undefined };

  constructor(size: number) {
    this.#size = size;
  }

  /** What everybody brought, as it was when the last one came. */
  come(rank: number, bytes: Uint8Array, sent?: Stretches): Promise<readonly (typeof this.Come)[]> {
    return new Promise((resolve) => {
      this.#come.push({ rank, bytes, sent });
      this.#waiting.push(resolve);
      if (this.#come.length < this.#size) return;
      const all = this.#come.map((one) => ({ ...one, bytes: one.bytes.slice() })).sort((a, b) => a.rank - b.rank);
      const waiting = this.#waiting;
      this.#come = [];
      this.#waiting = [];
      for (const tell of waiting) tell(all);
    });
  }
}

class Neighbour implements Wire {
  readonly rank: number;
  readonly size: number;
  readonly #meeting: Meeting;

  constructor(rank: number, size: number, meeting: Meeting) {
    this.rank = rank;
    this.size = size;
    this.#meeting = meeting;
  }

  async scatter(send: Uint8Array, sent: Stretches, into: Uint8Array, { places }: Stretches): Promise<void> {
    for (const { rank, bytes, sent: theirs } of await this.#meeting.come(this.rank, send, sent)) {
      const { places: from, counts } = theirs as Stretches;
      into.set(bytes.subarray(from[this.rank], from[this.rank] + counts[this.rank]), places[rank]);
    }
  }

  async spread(own: Uint8Array, into: Uint8Array, { places }: Stretches): Promise<void> {
    for (const { rank, bytes } of await this.#meeting.come(this.rank, own)) into.set(bytes, places[rank]);
  }

  async broadcast(bytes: Uint8Array): Promise<void> {
    bytes.set((await this.#meeting.come(this.rank, bytes))[0].bytes);
  }
}

/** Groups of one process, one for each rank. */
export function neighbours(size: number, options: GroupOptions = {}): Group[] {
  const meeting = new Meeting(size);
  return Array.from({ length: size }, (_, rank) => new Group(new Neighbour(rank, size, meeting), options));
}

/** What every rank comes to. */
export const together = <Result>(size: number, work: (group: Group) => Promise<Result>, options?: GroupOptions): Promise<Result[]> =>
  Promise.all(neighbours(size, options).map(work));
