import type { Chance } from "../base/chance.ts";
import { NonFiniteError } from "../base/errors.ts";
import { candidates, drawToken, notNumbers, type Sampling } from "./sampling.ts";
import type { Next, Prompt, Speaker, Speech } from "./speech.ts";

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
}

/** What a request got in one step. */
export interface Said {
  readonly request: Request;
  /** Undefined for the `</s>` that ends it. */
  readonly token?: number;
  /** Under the model's own distribution, before temperature and filters. */
  readonly logProbability: number;
  readonly finish?: Finish;
}

/** One that is being answered: its tokens so far, and what the model says of the next, once it is asked. */
interface Active {
  readonly request: Request;
  readonly ids: number[];
  said: number;
  next?: Next;
}

/** At most this many new tokens are read at once: the scores of attention take the square of a prompt's length. */
const mostRead = 4096;

/** Requests that are answered together, a token each at a time. They come and go between tokens. */
export class RunningBatch {
  readonly #speaker: Speaker;
  readonly #speech: Speech;
  /** In the order of the rows of the speech. */
  #rows: Active[] = [];
  #waiting: Active[] = [];

  constructor(speaker: Speaker) {
    this.#speaker = speaker;
    this.#speech = speaker.begin();
  }

  /** How many requests are not answered yet. */
  get size(): number {
    return this.#rows.length + this.#waiting.length;
  }

  /** Joins with the next step. */
  add(request: Request): void {
    this.#waiting.push({ request, ids: Array.from(request.ids), said: 0 });
  }

  /** Leaves before the next step, answered or not. */
  remove(request: Request): void {
    this.#waiting = this.#waiting.filter((one) => one.request !== request);
    this.#keep((one) => one.request !== request);
  }

  /** One more token for every request, in the order in which they joined. */
  async step(): Promise<Said[]> {
    await this.#goOn();
    await this.#join();
    const said = this.#rows.map((one) => this.#choose(one));
    const finished = new Set(said.filter(({ finish }) => finish !== undefined).map(({ request }) => request));
    this.#keep(({ request }) => !finished.has(request));
    return said;
  }

  /** Every row gets the token that was chosen for it. One that has no room left is read again from its later half. */
  async #goOn(): Promise<void> {
    const { lengths } = this.#speech;
    const full = new Set(this.#rows.filter((_, i) => lengths[i] >= this.#speaker.longest));
    this.#keep((one) => !full.has(one));
    this.#waiting.push(...full);
    if (this.#rows.length === 0) return;
    const next = await this.#speech.next(this.#rows.map(({ ids }) => ids[ids.length - 1]));
    for (const [i, one] of this.#rows.entries()) one.next = next[i];
  }

  async #join(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group: Active[] = [];
      const prompts: number[][] = [];
      let time = 0;
      for (const one of this.#waiting) {
        const ids = this.#room(one.ids);
        time = Math.max(time, ids.length);
        if (group.length > 0 && time * (group.length + 1) > mostRead) break; // one alone is read whatever its length
        group.push(one);
        prompts.push(ids);
      }
      const next = await this.#speech.join(group.map(({ request: { source } }, i) => ({ ids: prompts[i], source })));
      for (const [i, one] of group.entries()) one.next = next[i];
      this.#rows.push(...group);
      this.#waiting = this.#waiting.slice(group.length);
    }
  }

  /** What a row is read from: all of it, or if there is no room for more, its later half. */
  #room(ids: number[]): number[] {
    const { longest } = this.#speaker;
    return ids.length <= longest ? ids : ids.slice(ids.length - Math.max(1, longest >> 1));
  }

  #choose(one: Active): Said {
    const { request, ids } = one;
    const { scores, total } = one.next as Next;
    if (!Number.isFinite(total)) throw new NonFiniteError(notNumbers);
    const token = drawToken(candidates(scores, request.sampling, ids), request.chance.uniform(one.said));
    const logProbability = scores[token] - total;
    if (token === request.end) return { request, logProbability, finish: "end" };
    ids.push(token);
    one.said++;
    const over = one.said >= request.tokens || (request.source !== undefined && ids.length > this.#speaker.longest);
    return { request, token, logProbability, ...(over && { finish: "length" }) };
  }

  #keep(stays: (one: Active) => boolean): void {
    const rows = [...this.#rows.keys()].filter((i) => stays(this.#rows[i]));
    if (rows.length === this.#rows.length) return;
    this.#speech.keep(rows);
    this.#rows = rows.map((i) => this.#rows[i]);
  }
}
