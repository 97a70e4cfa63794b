import { ConfigError } from "../base/errors.ts";

// Forms come from strangers: what one of them takes is counted, in time and in memory.

/** Ways that are looked at for one answer: so many at once, some tenths of a second, and so many more for each token. */
const atOnce = 500_000;
const perToken = 3_000;

/** What may still be done for an answer. One that takes long keeps others waiting. */
export class Effort {
  #left = atOnce;

  /** There is a token more. */
  rest(): void {
    this.#left = Math.min(atOnce, this.#left + perToken);
  }

  spend(ways: number): void {
    this.#left -= ways;
    if (this.#left < 0) throw tooManyWays();
  }
}

export const tooManyWays = (): ConfigError =>
  new ConfigError("this form can go on in too many ways at once; make its patterns or its choices simpler", { path: "response_format" });

export interface Forgetful {
  /** Gives back all that can be found out again. */
  forget(): void;
}

/** What several have found out and remember, up to so many bytes together, about: whoever was used longest ago forgets first. */
export class Remembered {
  readonly #most: number;
  /** The one that was used last is at the end. */
  readonly #of = new Map<Forgetful, number>();
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** This one is used, and remembers so much more. */
  add(one: Forgetful, bytes: number): void {
    const all = (this.#of.get(one) ?? 0) + bytes;
    this.#of.delete(one);
    this.#of.set(one, all);
    this.#bytes += bytes;
    for (const [oldest, held] of this.#of) {
      if (this.#bytes <= this.#most) return;
      this.#of.delete(oldest);
      this.#bytes -= held;
      oldest.forget();
    }
  }
}
