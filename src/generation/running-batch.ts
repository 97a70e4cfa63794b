import type { Chance } from "../base/chance.ts";
import { ConfigError, EngineError, NonFiniteError } from "../base/errors.ts";
import { checkLimits } from "./limits.ts";
import { candidates, drawToken, notNumbers, type Sampling } from "./sampling.ts";
import type { Next, Prompt, RowSize, Speaker, Speech } from "./speech.ts";

/** Why a request is answered: the model said `</s>`, or there were as many tokens as wanted (or as fit). */
export type Finish = "end" | "length";

export interface Request extends Prompt {
  /** The most tokens to say. */
  readonly tokens: number;
  readonly sampling: Sampling;
  /** Where its own random numbers come from: what it says does not depend on who else is in the batch. */
  readonly chance: Chance;
  /** The token after which nothing comes. */
  readonly end?: number;
  /** Others of that kind. */
  readonly ends?: readonly number[];
}

/** What a request got in one step. */
export type Said = SaidToken | Failed;

export interface SaidToken {
  readonly request: Request;
  /** Undefined for the `</s>` that ends it. */
  readonly token?: number;
  /** Under the model's own distribution, before temperature and filters. */
  readonly logProbability: number;
  readonly finish?: Finish;
  readonly error?: undefined;
}

/** It cannot be answered, or not any further: by its own fault, or because the engine failed. */
export interface Failed {
  readonly request: Request;
  readonly error: Error;
  readonly finish: "error";
  readonly token?: undefined;
  readonly logProbability?: undefined;
}

/** One that is being answered: its tokens so far, and what the model says of the next, once it is asked. */
interface Active {
  readonly request: Request;
  readonly ids: number[];
  said: number;
  next?: Next;
  error?: Error;
}

/** At most this many new tokens are read at once, so that those who are there do not wait for many who come. */
const mostRead = 4096;

/**
 * Requests that are answered together, a token each at a time. They come and go between steps: one that is added while a step is under way
 * waits for the next, and one that is removed is told nothing more from that moment on, while its row stays until the next step begins.
 * Whoever fails, fails alone. What fails for all, the engine while rows go on, fails all rows; after it the batch is empty but for those
 * who waited, and goes on with them.
 */
export class RunningBatch {
  readonly #speaker: Speaker;
  #speech: Speech;
  /** Who is in the batch. Rows of others are left over, and go. */
  readonly #present = new Map<Request, Active>();
  /** In the order of the rows of the speech. */
  #rows: Active[] = [];
  #waiting: Active[] = [];
  #stepping = false;

  constructor(speaker: Speaker) {
    this.#speaker = speaker;
    this.#speech = speaker.begin();
  }

  /** How many requests are not answered yet. */
  get size(): number {
    return this.#present.size;
  }

  /** Joins with the next step. */
  add(request: Request): void {
    if (this.#present.has(request)) throw new ConfigError("this request is in the batch already; make another to ask the same again");
    const one = { request, ids: Array.from(request.ids), said: 0 };
    this.#present.set(request, one);
    this.#waiting.push(one);
  }

  /** Leaves, answered or not, and is told nothing more. Gives back whether it was there. */
  remove(request: Request): boolean {
    const was = this.#present.delete(request);
    this.#waiting = this.#waiting.filter((one) => this.#isHere(one));
    if (!this.#stepping) this.#leaveEmpty();
    return was;
  }

  /**
   * One more token for every request, in the order in which they joined. Every request is told once how it ended, if it is not removed:
   * by `finish`, which is "error" if it failed. There is one step at a time.
   */
  async step(): Promise<Said[]> {
    if (this.#stepping) throw new ConfigError("a step of this batch is under way; wait for it before the next");
    this.#stepping = true;
    try {
      return await this.#step();
    } finally {
      this.#stepping = false;
    }
  }

  async #step(): Promise<Said[]> {
    const before = this.#rows;
    for (const one of before) one.next = undefined; // nothing is said twice
    const waiting = this.#waiting; // whoever comes from here on waits for the next step
    this.#waiting = [];
    const full = await this.#goOn();
    await this.#join([...waiting, ...full]);
    const all = [...before, ...waiting].filter((one) => this.#isHere(one) && (one.next || one.error));
    const said = all.map((one) => ({ one, said: this.#say(one) }));
    const told = said.filter(({ one }) => this.#isHere(one)).map((it) => it.said);
    for (const { request, finish } of told) if (finish !== undefined) this.#present.delete(request);
    this.#leaveEmpty();
    return told;
  }

  #isHere(one: Active): boolean {
    return this.#present.get(one.request) === one; // not one that was removed and came again
  }

  /** Every row gets the token that was chosen for it. Gives back those that have no room left, which are read again from their later half. */
  async #goOn(): Promise<Active[]> {
    const before = this.#rows;
    try {
      const { lengths } = this.#speech;
      const stay = [...before.keys()].filter((i) => this.#isHere(before[i]));
      const isFull = (i: number) => lengths[i] >= this.#speaker.longest;
      const full = stay.filter(isFull).map((i) => before[i]);
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

  async #join(joining: readonly Active[]): Promise<void> {
    for (const one of joining) this.#check(one);
    let rest = joining;
    for (;;) {
      rest = rest.filter((one) => this.#isHere(one) && !one.error);
      const group = this.#group(rest);
      if (group.length === 0) break;
      await this.#read(group);
      rest = rest.slice(group.length);
    }
    this.#waiting = [...rest, ...this.#waiting]; // for others to leave, and their memory
  }

  #check(one: Active): void {
    try {
      const { tokens, source } = one.request;
      checkLimits({ tokens });
      this.#speaker.check?.({ ids: this.#room(one.ids), source }, tokens - one.said);
    } catch (error) {
      one.error = asError(error);
    }
  }

  /** The first few that are read together, if there is memory for their rows. One alone is always read. */
  #group(rest: readonly Active[]): readonly Active[] {
    let time = 0;
    const rows = this.#rows.map((one) => this.#size(one));
    const over = rest.findIndex((one, i) => {
      rows.push(this.#size(one));
      time = Math.max(time, this.#room(one.ids).length);
      return (i > 0 && time * (i + 1) > mostRead) || (rows.length > 1 && this.#speaker.fits?.(rows) === false);
    });
    return over < 0 ? rest : rest.slice(0, over);
  }

  /** What a row comes to have, if it says all that it may. */
  #size({ ids, said, request: { tokens, source } }: Active): RowSize {
    return { tokens: Math.min(this.#speaker.longest, ids.length + tokens - said), source: source?.length ?? 0 };
  }

  /** Adds a row for each. Where a group cannot be read, its members are read one by one, for one of them may be at fault. */
  async #read(group: readonly Active[]): Promise<void> {
    try {
      const next = await this.#speech.join(group.map(({ ids, request: { source } }) => ({ ids: this.#room(ids), source })));
      hear(group, next);
      this.#rows = [...this.#rows, ...group];
    } catch (error) {
      if (this.#speech.lengths.length !== this.#rows.length) this.#failAll(this.#rows, error); // whose rows these are, nobody knows any more
      if (group.length === 1) group[0].error = asError(error);
      else await this.#readEach(group);
      return;
    }
    if (group.length > 1) await this.#readAgain(group.filter(({ next }) => !Number.isFinite(next?.total)));
  }

  async #readEach(some: readonly Active[]): Promise<void> {
    for (const one of some) if (this.#isHere(one)) await this.#read([one]);
  }

  /**
   * Rows are filled up to the longest of their group, and what is filled up is masked; but 0 · NaN is NaN. One whose scores are not
   * numbers is read once more, alone: it may be well, and only the places after its end damaged.
   */
  async #readAgain(lost: readonly Active[]): Promise<void> {
    if (lost.length === 0) return;
    try {
      this.#keep([...this.#rows.keys()].filter((i) => !lost.includes(this.#rows[i])));
    } catch (error) {
      return this.#failAll(this.#rows, error);
    }
    await this.#readEach(lost);
  }

  /** What a row is read from: all of it, or if there is no room for more, its later half. */
  #room(ids: number[]): number[] {
    const { longest } = this.#speaker;
    return ids.length <= longest ? ids : ids.slice(ids.length - Math.max(1, longest >> 1));
  }

  #say(one: Active): Said {
    try {
      if (!one.error) return this.#choose(one);
    } catch (error) {
      one.error = asError(error);
    }
    return { request: one.request, error: one.error, finish: "error" };
  }

  #choose(one: Active): Said {
    const { request, ids } = one;
    const { scores, total } = one.next as Next;
    if (!Number.isFinite(total)) throw new NonFiniteError(notNumbers);
    const token = drawToken(candidates(scores, request.sampling, ids), request.chance.uniform(one.said));
    const logProbability = scores[token] - total;
    if (token === request.end || request.ends?.includes(token)) return { request, logProbability, finish: "end" };
    ids.push(token);
    one.said++;
    const over = one.said >= request.tokens || (request.source !== undefined && ids.length > this.#speaker.longest);
    return { request, token, logProbability, ...(over && { finish: "length" }) };
  }

  #keep(rows: readonly number[]): void {
    if (rows.length === this.#rows.length) return;
    this.#speech.keep(rows);
    this.#rows = rows.map((i) => this.#rows[i]);
  }

  #failAll(rows: readonly Active[], error: unknown): void {
    for (const one of rows) one.error = asError(error);
    this.#rows = [];
    this.#speech = this.#speaker.begin();
  }

  /** Rows of which nobody is here any more give back their memory; where somebody is, that waits for the next step. */
  #leaveEmpty(): void {
    if (this.#rows.length === 0 || this.#rows.some((one) => this.#isHere(one))) return;
    this.#rows = [];
    this.#speech = this.#speaker.begin();
  }
}

/** Everybody hears what is said of his row, or nobody anything. */
function hear(rows: readonly Active[], next: readonly Next[]): void {
  if (next.length !== rows.length) throw new EngineError(`${next.length} rows were answered, and ${rows.length} were asked for`);
  for (const [i, one] of rows.entries()) one.next = next[i];
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new EngineError(String(error)));
