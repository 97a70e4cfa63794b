import { ConfigError, EngineError } from "../base/errors.ts";
import { Active, asError } from "./active.ts";
import { sameSource, sharedTokens } from "./beginnings.ts";
import { checkLimits } from "./limits.ts";
import { fewestShared, type Prefixes } from "./prefixes.ts";
import type { Request, Said } from "./request.ts";
import type { Arrival, Beginning, Next, Speaker, Speech } from "./speech.ts";

export type { Failed, Finish, Request, Said, SaidToken } from "./request.ts";

export interface BatchOptions {
  /** The most rows at once; the rest waits, in the order in which it came. */
  readonly rows?: number;
  /**
   * The most tokens of prompts that are read between two tokens of the rows that go on: a long prompt holds nobody up. Left out, or with a
   * speaker that reads everything at once, whoever waits is read whole before rows go on.
   */
  readonly piece?: number;
  /** Where beginnings that prompts have in common are kept, so that they are read once. They are this speaker's alone. */
  readonly prefixes?: Prefixes;
  /**
   * The bytes that rows may take, together with common beginnings, asked whenever some are to join. If it is left out or says nothing, rows
   * may take what the device had when the speaker was made.
   */
  readonly memory?: () => number | undefined;
  /** Told when the reading of a request begins. */
  readonly begun?: (request: Request) => void;
}

/** At most this many new tokens are read at once, so that those who are there do not wait for many who come. */
const mostRead = 4096;

/** Requests whose prompts are being read, a piece in each step. */
interface Arriving {
  readonly group: readonly Active[];
  readonly arrival: Arrival;
  /** One that is read with nobody else, and from its beginning: if it fails, it is at fault itself. */
  readonly isAlone: boolean;
}

/**
 * Requests that are answered together, a token each at a time. They come and go between steps: one that is added while a step is under way
 * waits for the next, and one that is removed is told nothing more from that moment on, while its row stays until the next step begins.
 * Whoever fails, fails alone. What fails for all, the engine while rows go on, fails all rows; after it the batch is empty but for those
 * who waited or whose prompts are being read, and goes on with them.
 */
export class RunningBatch {
  readonly #speaker: Speaker;
  readonly #options: BatchOptions;
  #speech: Speech;
  /** Who is in the batch, in the order in which they came. Rows of others are left over, and go. */
  readonly #present = new Map<Request, Active>();
  /** In the order of the rows of the speech. */
  #rows: Active[] = [];
  #arriving: Arriving | undefined;
  #waiting: Active[] = [];
  #steps = 0;
  #stepping = false;

  constructor(speaker: Speaker, options: BatchOptions = {}) {
    checkLimits({ rows: options.rows, piece: options.piece });
    this.#speaker = speaker;
    this.#options = options;
    this.#speech = speaker.begin();
  }

  /** How many requests are not answered yet. */
  get size(): number {
    return this.#present.size;
  }

  /** How many of them have rows that go on. */
  get rows(): number {
    return this.#rows.filter((one) => this.#isHere(one)).length;
  }

  /** How many of them wait for their prompts to be read. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** What is kept of tokens right now, in bytes: of rows, of prompts that are being read, and of common beginnings. */
  get bytes(): number {
    return (this.#speech.bytes ?? 0) + (this.#arriving?.arrival.bytes ?? 0) + (this.#options.prefixes?.bytes ?? 0);
  }

  /** Joins with the next step, if there is room. */
  add(request: Request): void {
    if (this.#present.has(request)) throw new ConfigError("this request is in the batch already; make another to ask the same again");
    const one = new Active(request, this.#steps, this.#speaker.longest);
    this.#present.set(request, one);
    this.#waiting.push(one);
  }

  /** Leaves, answered or not, and is told nothing more. Gives back whether it was there. */
  remove(request: Request): boolean {
    const was = this.#leave(request);
    this.#waiting = this.#waiting.filter((one) => this.#isHere(one));
    if (!this.#stepping) this.#leaveEmpty();
    return was;
  }

  /**
   * One more token for every row, and then a piece of the prompts that are being read; told are the tokens, in the order in which their
   * requests came. Every request is told once how it ended, if it is not removed: by `finish`, which is "error" if it failed. There is one
   * step at a time.
   */
  async step(): Promise<Said[]> {
    if (this.#stepping) throw new ConfigError("a step of this batch is under way; wait for it before the next");
    this.#stepping = true;
    this.#steps++;
    try {
      return await this.#step();
    } finally {
      this.#stepping = false;
    }
  }

  async #step(): Promise<Said[]> {
    for (const one of this.#rows) one.next = undefined; // nothing is said twice
    const full = await this.#goOn();
    this.#wait(full);
    if (this.#isInPieces) await this.#arrive();
    else await this.#join();
    const all = [...this.#present.values()].filter((one) => one.next || one.error);
    const said = await Promise.all(all.map(async (one) => ({ one, said: await one.say() })));
    const told = said.filter(({ one }) => this.#isHere(one)).map((it) => it.said);
    for (const { request, finish } of told) if (finish !== undefined) this.#leave(request);
    this.#leaveEmpty();
    return told;
  }

  get #isInPieces(): boolean {
    const { piece, prefixes } = this.#options;
    return (piece !== undefined || prefixes !== undefined) && this.#speech.arrive !== undefined && this.#speech.admit !== undefined;
  }

  #isHere(one: Active): boolean {
    return this.#present.get(one.request) === one; // not one that was removed and came again
  }

  #leave(request: Request): boolean {
    this.#present.get(request)?.leave();
    return this.#present.delete(request);
  }

  /** These wait before those who do already: they were there before them. */
  #wait(some: readonly Active[]): void {
    this.#waiting = [...some, ...this.#waiting].filter((one) => this.#isHere(one));
  }

  /** Every row gets the token that was chosen for it. Gives back those that have no room left, which are read again from their later half. */
  async #goOn(): Promise<Active[]> {
    const before = this.#rows;
    try {
      const { lengths } = this.#speech;
      const stay = [...before.keys()].filter((i) => this.#isHere(before[i]));
      const isFull = (i: number) => lengths[i] >= this.#speaker.longest;
      const full = stay.filter(isFull).map((i) => before[i]);
      for (const one of full) one.checked = false;
      this.#keep(stay.filter((i) => !isFull(i)));
      if (this.#rows.length === 0) return full;
      const next = await this.#speech.next(this.#rows.map(({ ids }) => ids[ids.length - 1]));
      hear(this.#rows, next);
      return full;
    } catch (error) {
      this.#failAll(before, error);
      return [];
    }
  }

  /** Reads all that wait, if there is room for them, in groups. */
  async #join(): Promise<void> {
    for (;;) {
      const { group } = this.#gather(mostRead);
      if (group.length === 0) return;
      await this.#read(group);
    }
  }

  /** Reads a piece of the prompts that are being read, or of the next ones. */
  async #arrive(): Promise<void> {
    this.#arriving ??= this.#arrival();
    const now = this.#arriving;
    if (!now) return;
    try {
      await now.arrival.read(this.#piece);
      if (now.arrival.left > 0) return;
      this.#arriving = undefined;
      this.#admit(now);
    } catch (error) {
      this.#arriving = undefined;
      this.#failed(now.group, now.isAlone, error);
    }
  }

  get #piece(): number {
    return this.#options.piece ?? mostRead;
  }

  #arrival(): Arriving | undefined {
    const { group, beginnings } = this.#gather(this.#piece);
    if (group.length === 0) return undefined;
    const isAlone = group.length === 1 && !beginnings[0];
    try {
      const arrival = this.#speech.arrive?.(
        group.map(({ prompt }) => prompt),
        beginnings,
        this.#options.prefixes ? "for others" : "for itself",
      ) as Arrival;
      return { group, arrival, isAlone };
    } catch (error) {
      this.#failed(group, isAlone, error);
      return undefined;
    }
  }

  #admit({ group, arrival, isAlone }: Arriving): void {
    const { prefixes } = this.#options;
    const known = prefixes && arrival.known();
    try {
      const next = this.#speech.admit?.(arrival) as Next[];
      hear(group, next);
    } catch (error) {
      if (this.#speech.lengths.length !== this.#rows.length) this.#failAll(this.#rows, error); // whose rows these are, nobody knows any more
      throw error;
    }
    this.#rows = [...this.#rows, ...group];
    if (known) prefixes?.add(known);
    if (!isAlone) this.#wait(this.#takenOut(group.filter(isLost)));
  }

  /** One that was read alone fails. Others are read again, each alone and from its beginning, for one of them may be at fault. */
  #failed(group: readonly Active[], isAlone: boolean, error: unknown): void {
    for (const one of group) {
      if (isAlone) one.error = asError(error);
      one.next = undefined;
      one.alone = true;
    }
    if (!isAlone) this.#wait(group);
  }

  /** Takes the first few out of those who wait: who can be read together, with what is known of their beginnings. */
  #gather(most: number): { readonly group: readonly Active[]; readonly beginnings: readonly (Beginning | undefined)[] } {
    const ready = this.#waiting.filter((one) => one.since < this.#steps);
    for (const one of ready) one.check(this.#speaker);
    const found = this.#tried(
      ready.filter(({ error }) => !error),
      most,
    );
    for (const one of found.keys()) this.#begin(one);
    this.#waiting = this.#waiting.filter((one) => this.#isHere(one) && !one.error && !found.has(one));
    const group = [...found.keys()].filter((one) => this.#isHere(one) && !one.error);
    return { group, beginnings: group.map((one) => found.get(one)) };
  }

  /** What is asked of others may fail; then the first one's turn is over, and nobody else's. */
  #tried(rest: readonly Active[], most: number): Map<Active, Beginning | undefined> {
    try {
      return this.#first(rest, most);
    } catch (error) {
      if (rest.length > 0) rest[0].error = asError(error);
      return new Map();
    }
  }

  #begin(one: Active): void {
    if (one.begun) return;
    one.begun = true;
    try {
      this.#options.begun?.(one.request);
    } catch (error) {
      one.error = asError(error);
    }
  }

  /**
   * As many as there are rows and memory for, and as rows · longest stays within what is read at once. One alone is always read. Whoever
   * begins as one before him does, with something that is not known yet, waits until it is.
   */
  #first(rest: readonly Active[], most: number): Map<Active, Beginning | undefined> {
    const { rows: mostRows = Number.POSITIVE_INFINITY } = this.#options;
    const bytes = this.#room;
    const rows = this.#rows.map(({ size }) => size);
    const found = new Map<Active, Beginning | undefined>();
    let longest = 0;
    for (const [i, one] of rest.entries()) {
      const others = [...found.keys()];
      if (rows.length >= mostRows || (others.length > 0 && (one.alone || others[0].alone))) break;
      const beginning = this.#isInPieces && !one.alone ? this.#options.prefixes?.find(one.prompt) : undefined;
      rows.push(one.size);
      longest = Math.max(longest, this.#unread(one, beginning));
      if (others.length > 0 && longest * (others.length + 1) > most) break;
      if (rows.length > 1 && this.#speaker.fits?.(rows, bytes) === false) break;
      if (others.length > 0 && this.#waitsFor(one, others, beginning)) {
        for (const later of rest.slice(i + 1)) this.#waitsFor(later, others, undefined); // at the same time, not one after the other
        break;
      }
      found.set(one, beginning);
    }
    return found;
  }

  /** The bytes that rows may take. */
  get #room(): number | undefined {
    const { memory, prefixes } = this.#options;
    const bytes = memory?.();
    return bytes === undefined ? undefined : bytes - (prefixes?.bytes ?? 0);
  }

  /** How many tokens are to be read of a prompt. */
  #unread({ prompt: { ids, source } }: Active, beginning: Beginning | undefined): number {
    if (!this.#isInPieces) return ids.length;
    return beginning ? ids.length - beginning.tokens : ids.length + (source?.length ?? 0);
  }

  /** Whether it is worth it to wait for one of these to be read. That is done once: what it has read may not be there then. */
  #waitsFor(one: Active, others: readonly Active[], beginning: Beginning | undefined): boolean {
    if (!this.#options.prefixes || !this.#isInPieces || one.waited) return false;
    const { prompt } = one;
    one.waited = others.some((other) => {
      const { prompt: before } = other;
      if (!sameSource(prompt, before)) return false;
      const shared = Math.min(sharedTokens(prompt.ids, before.ids), prompt.ids.length - 1);
      return (prompt.source !== undefined && !beginning) || shared - (beginning?.tokens ?? 0) >= fewestShared;
    });
    return one.waited;
  }

  /** Adds a row for each. Where a group cannot be read, its members are read one by one, for one of them may be at fault. */
  async #read(group: readonly Active[]): Promise<void> {
    try {
      const next = await this.#speech.join(group.map(({ prompt }) => prompt));
      hear(group, next);
      this.#rows = [...this.#rows, ...group];
    } catch (error) {
      if (this.#speech.lengths.length !== this.#rows.length) this.#failAll(this.#rows, error); // whose rows these are, nobody knows any more
      if (group.length === 1) group[0].error = asError(error);
      else await this.#readEach(group);
      return;
    }
    if (group.length > 1) await this.#readEach(this.#takenOut(group.filter(isLost)));
  }

  async #readEach(some: readonly Active[]): Promise<void> {
    for (const one of some) if (this.#isHere(one)) await this.#read([one]);
  }

  /**
   * Rows are filled up to the longest of their group, and what is filled up is masked; but 0 · NaN is NaN. One whose scores are not
   * numbers is read once more, alone: it may be well, and only the places after its end damaged.
   */
  #takenOut(lost: readonly Active[]): readonly Active[] {
    if (lost.length === 0) return [];
    for (const one of lost) {
      one.next = undefined;
      one.alone = true;
    }
    try {
      this.#keep([...this.#rows.keys()].filter((i) => !lost.includes(this.#rows[i])));
      return lost;
    } catch (error) {
      this.#failAll(this.#rows, error);
      return [];
    }
  }

  /** Goes on with these rows. The last of them take the places of those that go: whoever is in between stays where he is. */
  #keep(stay: readonly number[]): void {
    if (stay.length === this.#rows.length) return;
    const those = new Set(stay);
    const moving = stay.filter((i) => i >= stay.length);
    const order = stay.map((_, i) => (those.has(i) ? i : (moving.pop() as number)));
    this.#speech.keep(order);
    this.#rows = order.map((i) => this.#rows[i]);
  }

  #failAll(rows: readonly Active[], error: unknown): void {
    for (const one of rows) one.error = asError(error);
    this.#rows = [];
    this.#speech = this.#speaker.begin();
  }

  /** Rows and arrivals of which nobody is here any more give back their memory; where somebody is, that waits for the next step. */
  #leaveEmpty(): void {
    if (this.#arriving && !this.#arriving.group.some((one) => this.#isHere(one))) this.#arriving = undefined;
    if (this.#rows.length === 0 || this.#rows.some((one) => this.#isHere(one))) return;
    this.#rows = [];
    this.#speech = this.#speaker.begin();
  }
}

const isLost = ({ next }: Active): boolean => !Number.isFinite(next?.total);

/** Everybody hears what is said of his row, or nobody anything. */
function hear(rows: readonly Active[], next: readonly Next[]): void {
  if (next.length !== rows.length) throw new EngineError(`${next.length} rows were answered, and ${rows.length} were asked for`);
  for (const [i, one] of rows.entries()) one.next = next[i];
}
