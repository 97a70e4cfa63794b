import { array, type HostArray } from "../base/arrays.ts";
import { ConfigError } from "../base/errors.ts";
import type { ParameterBuffer } from "../graph/parameters.ts";
import type { ModelConfig } from "../models/any.ts";
import type { EncoderDecoderConfig, RnnConfig } from "../models/config.ts";
import { encoderDecoderParts } from "../models/encoder-decoder.ts";
import { rnnParts } from "../models/rnn.ts";
import { compile } from "../runtime/compile.ts";

export interface GreedyOptions {
  /** The ids that begin and end a target. */
  readonly start: number;
  readonly end: number;
  readonly threads?: number;
}

/** A model that reads sources and then says, again and again, what may come next. */
interface Speaker {
  /** Reads the sources; what comes back foretells the next token of every row, [batch, vocab], from the targets so far. */
  read(sources: readonly Int32Array[]): Promise<(targets: readonly (readonly number[])[]) => Promise<HostArray>>;
  release(): Promise<void>;
}

/** Targets for sources, the likeliest token each time. */
export class Greedy {
  readonly #context: number;
  readonly #vocab: number;
  readonly #options: GreedyOptions;
  readonly #speaker: Speaker;

  constructor(model: ModelConfig, weights: ParameterBuffer, options: GreedyOptions) {
    this.#context = model.context;
    this.#vocab = model.vocab;
    this.#options = options;
    this.#speaker = speakerOf(model, weights, options.threads);
  }

  /** One target for each source, without its beginning and its end; at most a context long. */
  async translate(sources: readonly Int32Array[]): Promise<Int32Array[]> {
    const { start, end } = this.#options;
    const next = await this.#speaker.read(sources);
    const targets = sources.map(() => [start]);
    const open = new Set(sources.keys());
    for (let length = 1; length <= this.#context && open.size > 0; length++) {
      const { data } = await next(targets);
      for (const row of sources.keys()) {
        const token = highest((data as Float32Array).subarray(row * this.#vocab, (row + 1) * this.#vocab));
        targets[row].push(token); // rows that have ended go on, so that all stay equally long
        if (token === end) open.delete(row);
      }
    }
    return targets.map((ids) => {
      const stop = ids.indexOf(end, 1);
      return Int32Array.from(ids.slice(1, stop < 0 ? this.#context + 1 : stop));
    });
  }

  release(): Promise<void> {
    return this.#speaker.release();
  }
}

function speakerOf(model: ModelConfig, weights: ParameterBuffer, threads?: number): Speaker {
  if (model.model === "encoder-decoder") return transformer(model, weights, threads);
  if (model.model === "rnn" && model.task === "translate") return rnn(model, weights, threads);
  throw new ConfigError(`a ${model.model} for something else cannot translate`);
}

/** The encoder runs once; the decoder reads the whole target so far again for each token. */
function transformer(model: EncoderDecoderConfig, weights: ParameterBuffer, threads?: number): Speaker {
  const parts = encoderDecoderParts(model);
  const encode = compile(parts.encode, { threads, symbols: "open" });
  const next = compile(parts.next, { threads, symbols: "open" });
  return {
    async read(sources) {
      const { source, lengths } = padded(sources, Math.max(...sources.map((ids) => ids.length)));
      const { states } = await encode.run({ source, lengths }, { weights });
      return async (targets) => {
        const target = array("int32", Int32Array.from(targets.flat()), [targets.length, targets[0].length]);
        return (await next.run({ states, lengths, target }, { weights })).scores;
      };
    },
    async release() {
      await encode.release();
      await next.release();
    },
  };
}

/** An RNN carries its state from token to token. */
function rnn(model: RnnConfig, weights: ParameterBuffer, threads?: number): Speaker {
  const parts = rnnParts(model);
  const encode = compile(parts.encode, { threads, sessions: 12 });
  const next = compile(parts.next, { threads, symbols: "open" });
  return {
    async read(sources) {
      const longest = Math.max(...sources.map((ids) => ids.length));
      const { source, lengths } = padded(sources, roundedUp(longest)); // it is unrolled: few lengths are few sessions
      const { states, ...first } = await encode.run({ source, lengths }, { weights });
      let carried: Readonly<Record<string, HostArray>> = first;
      return async (targets) => {
        const target = array(
          "int32",
          Int32Array.from(targets, (ids) => ids.at(-1) as number),
          [targets.length, 1],
        );
        const { scores, ...after } = await next.run({ states, lengths, target, ...carried }, { weights });
        carried = after;
        return scores;
      };
    },
    async release() {
      await encode.release();
      await next.release();
    },
  };
}

function padded(sources: readonly Int32Array[], time: number): { source: HostArray; lengths: HostArray } {
  const data = new Int32Array(sources.length * time);
  for (const [row, ids] of sources.entries()) data.set(ids, row * time);
  return {
    source: array("int32", data, [sources.length, time]),
    lengths: array(
      "int32",
      Int32Array.from(sources, (ids) => ids.length),
    ),
  };
}

/** The next of 8, 12, 16, 24, 32, 48, … */
function roundedUp(length: number): number {
  let size = 8;
  while (size < length) size = size % 3 === 0 ? (size * 4) / 3 : (size * 3) / 2;
  return size;
}

/** The place of the largest number, the first if there are several. */
export function highest(numbers: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < numbers.length; i++) if (numbers[i] > numbers[best]) best = i;
  return best;
}
