import { EngineError, NonFiniteError } from "../base/errors.ts";
import { chooseToken } from "./drawing.ts";
import { likeliest } from "./likeliest.ts";
import { checkLimits } from "./limits.ts";
import type { Request, Said } from "./request.ts";
import { notNumbers } from "./sampling.ts";
import type { Next, Prompt, RowSize, Speaker } from "./speech.ts";

/** A request that is being answered: its tokens so far, and what the model says of the next, once it is asked. */
export class Active {
  readonly request: Request;
  /** The steps that had begun when it came: it waits for the next. */
  readonly since: number;
  readonly ids: number[];
  next: Next | undefined;
  error: Error | undefined;
  /** Its prompt was found to be in order. */
  checked = false;
  /** Its reading has begun. */
  begun = false;
  /** It has waited for one that begins alike, which it does once. */
  waited = false;
  /** It is read with nobody else, and from its beginning: something went wrong before. */
  alone = false;
  #said = 0;
  #asking = false;
  #left = false;
  readonly #longest: number;

  constructor(request: Request, since: number, longest: number) {
    this.request = request;
    this.since = since;
    this.ids = Array.from(request.ids);
    this.#longest = longest;
  }

  /** What its row is read from: all of it, or if there is no room for more, its later half. */
  get prompt(): Prompt {
    const { ids } = this;
    const read = ids.length <= this.#longest ? ids : ids.slice(ids.length - Math.max(1, this.#longest >> 1));
    return { ids: read, source: this.request.source };
  }

  /** What its row comes to have, if it says all that it may. */
  get size(): RowSize {
    const { tokens, source } = this.request;
    return { tokens: Math.min(this.#longest, this.ids.length + tokens - this.#said), source: source?.length ?? 0 };
  }

  check(speaker: Speaker): void {
    if (this.checked || this.error) return;
    try {
      const { tokens, top } = this.request;
      checkLimits({ tokens, top });
      speaker.check?.(this.prompt, tokens - this.#said);
      this.checked = true;
    } catch (error) {
      this.error = asError(error);
    }
  }

  /** Chooses its next token. */
  async say(): Promise<Said> {
    try {
      if (!this.error) {
        const allowed = await this.#allowed();
        if (!this.#left) return this.#choose(allowed);
      }
    } catch (error) {
      this.error = asError(error);
    }
    return { request: this.request, error: this.error as Error, finish: "error" };
  }

  /** Gives back what its constraint holds; when it is just being asked, after that. */
  leave(): void {
    if (this.#left) return;
    this.#left = true;
    if (!this.#asking) this.#release();
  }

  async #allowed(): Promise<Int32Array | undefined> {
    const { constraint } = this.request;
    if (!constraint) return undefined;
    this.#asking = true;
    try {
      return await constraint.allowed();
    } finally {
      this.#asking = false;
      if (this.#left) this.#release();
    }
  }

  #release(): void {
    try {
      this.request.constraint?.release();
    } catch {
      // It has left, and there is nobody to be told.
    }
  }

  #choose(allowed: Int32Array | undefined): Said {
    const { request, ids } = this;
    const { scores, total } = this.next as Next;
    if (!Number.isFinite(total)) throw new NonFiniteError(notNumbers);
    const written = ids.slice(ids.length - this.#said);
    const token = chooseToken(scores, request.sampling, request.chance.uniform(this.#said), { ids, written, allowed });
    request.constraint?.accept(token);
    const logProbability = scores[token] - total;
    const told = { request, logProbability, ...(request.top !== undefined && { top: likeliest({ scores, total }, request.top), total }) };
    if (token === request.end || request.ends?.includes(token)) return { ...told, finish: "end" };
    ids.push(token);
    this.#said++;
    const over = this.#said >= request.tokens || (request.source !== undefined && ids.length > this.#longest);
    return { ...told, token, ...(over && { finish: "length" }) };
  }
}

export const asError = (error: unknown): Error => (error instanceof Error ? error : new EngineError(String(error)));
