import { type Chance, chance } from "../../src/base/chance.ts";
import { type Sampling, sampling } from "../../src/generation/sampling.ts";
import type { Arrival, Beginning, Known, Next, Prompt, Speaker, Speech } from "../../src/generation/speech.ts";
import { logSumExp } from "./whole-model.ts";

/** Waits for a moment inside a speaker, in which anything may happen. */
export type Pause = () => Promise<void>;

interface Row {
  readonly ids: readonly number[];
  readonly source: readonly number[];
}

/** A speaker made of nothing but a hash: what it says of a row follows from the row's tokens and its source, all of them, and from nothing else. */
export function hashSpeaker({ vocab = 13, longest = 12 }: { readonly vocab?: number; readonly longest?: number } = {}): Speaker {
  return { vocab, longest, begin: () => new HashSpeech(vocab), release: async () => {} };
}

/** The same, which reads prompts in pieces, and knows what it has read of others: at every so many tokens. */
export function readingSpeaker({ grain = 1, ...sizes }: { vocab?: number; longest?: number; grain?: number } = {}): Speaker {
  return altered(hashSpeaker(sizes), (speech) => ({
    arrive: (prompts, beginnings) => new HashArrival(prompts, beginnings, grain),
    admit: (arrival) => (speech as HashSpeech).added((arrival as HashArrival).rows),
  }));
}

/** Prompts that are being read. What it takes over is what the other has read, not what it should be. */
class HashArrival implements Arrival {
  readonly #prompts: readonly Prompt[];
  readonly #grain: number;
  readonly rows: { ids: number[]; source: number[] }[];
  #sources: boolean;

  constructor(prompts: readonly Prompt[], beginnings: readonly (Beginning | undefined)[] = [], grain = 1) {
    this.#prompts = prompts.map(({ ids, source }) => ({ ids: Array.from(ids), source }));
    this.#grain = grain;
    this.rows = prompts.map((_, i) => {
      const { known, prompt = 0, tokens } = beginnings[i] ?? {};
      const { ids = [], source = [] } = (known as { rows?: Row[] } | undefined)?.rows?.[prompt] ?? {};
      return { ids: ids.slice(0, tokens), source: [...source] };
    });
    this.#sources = prompts.every(({ source }, i) => !source || beginnings[i]);
  }

  get left(): number {
    const sources = this.#sources ? 0 : this.#prompts.reduce((sum, { source = [] }) => sum + source.length, 0);
    return this.#prompts.reduce((sum, { ids }, i) => sum + ids.length - this.rows[i].ids.length, sources);
  }

  get bytes(): number {
    return this.rows.reduce((sum, { ids, source }) => sum + ids.length + source.length, 0);
  }

  async read(tokens: number): Promise<void> {
    for (const [i, { ids, source = [] }] of this.#prompts.entries()) {
      const { length } = this.rows[i].ids;
      this.rows[i].source = Array.from(source);
      this.rows[i].ids.push(...Array.from(ids).slice(length, length + Math.max(1, Math.floor(tokens / this.rows.length))));
    }
    this.#sources = true;
  }

  known(): Known & { readonly rows: Row[] } {
    const grain = this.#grain;
    return { prompts: this.#prompts, bytes: this.bytes, rows: this.rows, reach: (_, tokens) => tokens - (tokens % grain) };
  }
}

class HashSpeech implements Speech {
  readonly #vocab: number;
  #rows: Row[] = [];

  constructor(vocab: number) {
    this.#vocab = vocab;
  }

  get lengths(): readonly number[] {
    return this.#rows.map(({ ids }) => ids.length);
  }

  async join(prompts: readonly Prompt[]): Promise<Next[]> {
    return this.added(prompts.map(({ ids, source = [] }) => ({ ids: Array.from(ids), source: Array.from(source) })));
  }

  added(rows: readonly Row[]): Next[] {
    this.#rows = [...this.#rows, ...rows];
    return rows.map((row) => this.#next(row));
  }

  async next(tokens: readonly number[]): Promise<Next[]> {
    this.#rows = this.#rows.map(({ ids, source }, i) => ({ ids: [...ids, tokens[i]], source }));
    return this.#rows.map((row) => this.#next(row));
  }

  keep(rows: readonly number[]): void {
    this.#rows = rows.map((row) => this.#rows[row]);
  }

  #next({ ids, source }: Row): Next {
    const own = chance(3).fork(ids.join(" ")).fork(source.join(" "));
    const scores = Float32Array.from({ length: this.#vocab }, (_, token) => 2 * own.normal(token));
    return { scores, total: logSumExp(scores) };
  }
}

/** The same speaker, with something else in the place of what its speeches do. */
export function altered(speaker: Speaker, change: (speech: Speech) => Partial<Speech>): Speaker {
  return {
    ...speaker,
    begin: () => {
      const speech = speaker.begin();
      return {
        get lengths() {
          return speech.lengths;
        },
        join: (prompts) => speech.join(prompts),
        next: (tokens) => speech.next(tokens),
        keep: (rows) => speech.keep(rows),
        get bytes() {
          return speech.bytes;
        },
        arrive: speech.arrive && ((prompts, beginnings) => speech.arrive?.(prompts, beginnings) as Arrival),
        admit: speech.admit && ((arrival) => speech.admit?.(arrival) as Next[]),
        ...change(speech),
      };
    },
  };
}

/** The same speaker with a pause before and after everything that takes time. Rows and tokens must agree at all times. */
export function paused(speaker: Speaker, pause: Pause): Speaker {
  const around = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await pause();
    const result = await work();
    await pause();
    return result;
  };
  return altered(speaker, (speech) => ({
    join: (prompts) => around(() => speech.join(prompts)),
    arrive:
      speech.arrive &&
      ((prompts, beginnings) => {
        const arrival = speech.arrive?.(prompts, beginnings) as Arrival;
        const read = arrival.read.bind(arrival);
        arrival.read = (tokens) => around(() => read(tokens));
        return arrival;
      }),
    next: (tokens) =>
      around(() => {
        if (tokens.length !== speech.lengths.length) throw new Error(`${tokens.length} tokens for ${speech.lengths.length} rows`);
        return speech.next(tokens);
      }),
  }));
}

/** Random numbers as usual, until the number of a token at which there are none. */
export function brokenAt(token: number, from: Chance): Chance {
  const uniform = (place: number) => {
    if (place >= token) throw new Error("the dice are gone");
    return from.uniform(place);
  };
  return { ...from, uniform } as Chance;
}

/** Settings with which nothing can be said. */
export const nothingAllowed = (vocab: number): Sampling =>
  sampling({ bias: new Map(Array.from({ length: vocab }, (_, id) => [id, Number.NEGATIVE_INFINITY])) });
