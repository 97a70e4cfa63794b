import { array, emptyArray, type HostArray } from "../base/arrays.ts";
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
  read(sources: readonly Int32Array[]): Promise<Speech>;
  release(): Promise<void>;
}

interface Speech {
  /** The scores of the next token of every row, [batch, vocab], from the targets so far, which are all equally long. */
  next(targets: readonly (readonly number[])[]): Promise<HostArray>;
  /** Goes on with these rows only. */
  keep(rows: readonly number[]): void;
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
    const speech = await this.#speaker.read(sources);
    const targets = sources.map(() => [start]);
    let open = [...sources.keys()];
    for (let length = 1; length <= this.#context && open.length > 0; length++) {
      const { data } = await speech.next(open.map((row) => targets[row]));
      const tokens = open.map((_, i) => highest((data as Float32Array).subarray(i * this.#vocab, (i + 1) * this.#vocab)));
      const going = [...open.keys()].filter((i) => tokens[i] !== end);
      for (const i of going) targets[open[i]].push(tokens[i]);
      if (going.length < open.length) speech.keep(going);
      open = going.map((i) => open[i]);
    }
    return targets.map((ids) => Int32Array.from(ids.slice(1)));
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
      let memory = { ...(await encode.run({ source, lengths }, { weights })), lengths };
      return {
        async next(targets) {
          const target = array("int32", Int32Array.from(targets.flat()), [targets.length, targets[0].length]);
          return (await next.run({ ...memory, target }, { weights })).scores;
        },
        keep(rows) {
          memory = picked(memory, rows);
        },
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
      let memory = { ...(await encode.run({ source, lengths }, { weights })), lengths };
      return {
        async next(targets) {
          const target = array(
            "int32",
            Int32Array.from(targets, (ids) => ids.at(-1) as number),
            [targets.length, 1],
          );
          const { scores, ...after } = await next.run({ ...memory, target }, { weights });
          memory = { ...memory, ...after };
          return scores;
        },
        keep(rows) {
          memory = picked(memory, rows);
        },
      };
    },
    async release() {
      await encode.release();
      await next.release();
    },
  };
}

/** These rows of every array. */
function picked<Arrays extends Readonly<Record<string, HostArray>>>(arrays: Arrays, rows: readonly number[]): Arrays {
  const some = Object.entries(arrays).map(([name, { dtype, shape, data }]) => {
    const length = data.length / shape[0];
    const kept = emptyArray(dtype, rows.length * length);
    for (const [i, row] of rows.entries()) kept.set(data.subarray(row * length, (row + 1) * length) as never, i * length);
    return [name, { dtype, shape: [rows.length, ...shape.slice(1)], data: kept }];
  });
  return Object.fromEntries(some) as Arrays;
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
