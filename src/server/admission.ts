import { HttpError, later } from "./errors.ts";

// Who may wait, and for how long.

export interface AdmissionOptions {
  /** The most requests that wait at once. */
  readonly waiting: number;
  /** Milliseconds that one may wait to be begun, and that one may take in all. */
  readonly queueTime: number;
  readonly requestTime: number;
}

/** One that was let in. */
export interface Ticket {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  begun(): void;
  leave(): void;
}

/** Timers count to this; what is longer would be over at once. */
const longest = 2 ** 31 - 1;
const after = (milliseconds: number, what: () => void) => setTimeout(what, Math.min(longest, milliseconds));

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toLocaleString("en")} seconds`;

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #inside = new Set<AbortController>();
  #waiting = 0;
  #closed = false;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Requests that wait, and all that are not over. */
  get waiting(): number {
    return this.#waiting;
  }

  get inside(): number {
    return this.#inside.size;
  }

  get closed(): boolean {
    return this.#closed;
  }

  enter(): Ticket {
    const { waiting, queueTime, requestTime } = this.#options;
    if (this.#closed) throw stopping();
    if (this.#waiting >= waiting)
      throw new HttpError(429, `${waiting} requests wait already; try again later`, { code: "rate_limit_exceeded", headers: later });
    const stop = new AbortController();
    const late = (what: string, limit: number, status: number) => () =>
      stop.abort(
        new HttpError(status, `${what} ${seconds(limit)}`, {
          code: "timeout",
          headers: status === 429 ? later : { "x-should-retry": "false" },
        }),
      );
    const queue = after(queueTime, late("it waited for its turn for", queueTime, 429));
    const whole = after(requestTime, late("it took longer than", requestTime, 503));
    this.#inside.add(stop);
    this.#waiting++;
    let waits = true;
    const begun = () => {
      if (!waits) return;
      waits = false;
      this.#waiting--;
      clearTimeout(queue);
    };
    const leave = () => {
      begun();
      clearTimeout(whole);
      this.#inside.delete(stop);
    };
    return { signal: stop.signal, abort: (reason) => stop.abort(reason), begun, leave };
  }

  /** Lets nobody in any more. */
  close(): void {
    this.#closed = true;
  }

  /** Ends all that are still inside. */
  end(): void {
    for (const one of this.#inside) one.abort(stopping());
  }
}

const stopping = (): HttpError =>
  new HttpError(503, "the server is stopping; try again later", { code: "stopping", headers: { ...later, Connection: "close" } });
