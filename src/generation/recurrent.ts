import { array, emptyArray, type HostArray } from "../base/arrays.ts";
import type { RnnConfig } from "../models/config.ts";
import { rnnEncode, rnnStates, rnnStep } from "../models/rnn.ts";
import { type CompileOptions, compile } from "../runtime/compile.ts";
import { freeMemoryOf } from "../runtime/device.ts";
import type { Arrays } from "../runtime/session.ts";
import { count, refuseOver } from "./memory.ts";
import { integers, lengthsOf, longestOf, padded, roundedLength } from "./padded.ts";
import { checkPrompt, isIdentity, type Next, nextOf, type Prompt, type Speaker, type Speech } from "./speech.ts";

/** A prompt is read in pieces of this length, since what is unrolled has a fixed one. */
const pieceLength = 32;

type Step = (feeds: Arrays) => Promise<Arrays>;

interface Parts {
  readonly config: RnnConfig;
  /** Over one new token, or over a piece of a prompt. */
  step(time: number): Step;
  encode(sourceTime: number): Step;
}

/** An RNN: all that it keeps of the tokens before is its state. */
export function rnnSpeaker(config: RnnConfig, options: CompileOptions): Speaker {
  const made = new Map<string, { run(feeds: never): Promise<Arrays>; release(): Promise<void> }>();
  const unrolled = (axis: string, length: number, make: () => ReturnType<typeof rnnStep>): Step => {
    const key = `${axis} ${length}`;
    const found = made.get(key) ?? compile(make(), { ...options, symbols: "open", bind: { [axis]: length } });
    made.set(key, found);
    return (feeds) => found.run(feeds as never);
  };
  const parts: Parts = {
    config,
    step: (time) => unrolled("time", time, () => rnnStep(config)),
    encode: (sourceTime) => unrolled("sourceTime", sourceTime, () => rnnEncode(config) as never),
  };
  const sourceVocab = config.task === "lm" ? undefined : (config.sourceVocab ?? config.vocab);
  return {
    vocab: config.vocab,
    longest: config.task === "lm" ? Number.POSITIVE_INFINITY : config.context,
    check(prompt) {
      checkPrompt(prompt, config.vocab, sourceVocab);
      if (sourceVocab !== undefined) refuseUnrolled(config, prompt.source?.length ?? 0, options);
    },
    begin: () => new RnnSpeech(parts),
    release: async () => {
      for (const one of made.values()) await one.release();
    },
  };
}

/** What one step of one layer takes in an unrolled encoder, as measured: its nodes, here and in the engine. */
const nodeBytes = 2 ** 18;

function refuseUnrolled({ layers, width, bidirectional }: RnnConfig, tokens: number, { device }: CompileOptions): void {
  const each = layers * (bidirectional ? 2 : 1) * (nodeBytes + 32 * width);
  const steps = roundedLength(tokens);
  const sum = `${count(steps)} steps × ${count(each)} bytes`;
  refuseOver(`a source of ${count(tokens)} tokens is unrolled, which takes`, sum, steps * each, freeMemoryOf(device));
}

class RnnSpeech implements Speech {
  readonly #parts: Parts;
  #lengths: number[] = [];
  /** States, and what the decoder asks of the source; [row, …] each. */
  #kept: Arrays = {};

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get lengths(): readonly number[] {
    return this.#lengths;
  }

  async join(prompts: readonly Prompt[]): Promise<Next[]> {
    const lists = prompts.map(({ ids }) => Array.from(ids));
    let kept = await this.#read(prompts);
    let next: Next[] = [];
    for (let at = 0; at < longestOf(lists); at += pieceLength) {
      const pieces = lists.map((ids) => ids.slice(at, at + pieceLength));
      const result = await this.#step(kept, pieces, longestOf(pieces) === 1 ? 1 : pieceLength);
      ({ kept, next } = result); // where a row has ended, its state stays, and so do its scores
    }
    this.#kept = this.#lengths.length > 0 ? joined(this.#kept, kept) : kept;
    this.#lengths = [...this.#lengths, ...lists.map((ids) => ids.length)];
    return next;
  }

  async next(tokens: readonly number[]): Promise<Next[]> {
    const { kept, next } = await this.#step(
      this.#kept,
      tokens.map((token) => [token]),
      1,
    );
    this.#kept = kept;
    this.#lengths = this.#lengths.map((length) => length + 1);
    return next;
  }

  keep(rows: readonly number[]): void {
    if (isIdentity(rows, this.#lengths.length)) return;
    this.#kept = Object.fromEntries(Object.entries(this.#kept).map(([name, x]) => [name, picked(x, rows)]));
    this.#lengths = rows.map((row) => this.#lengths[row]);
  }

  async #step(kept: Arrays, pieces: readonly number[][], time: number): Promise<{ kept: Arrays; next: Next[] }> {
    const { scores, total, ...after } = await this.#parts.step(time)({ ...kept, ids: padded(pieces, time), count: lengthsOf(pieces) });
    return { kept: { ...kept, ...after }, next: nextOf({ scores, total }) };
  }

  /** The states to begin with: zeros, or what the encoder made of the sources. */
  async #read(prompts: readonly Prompt[]): Promise<Arrays> {
    const { config, encode } = this.#parts;
    if (config.task === "lm") {
      const zeros = () => array("float32", new Float32Array(prompts.length * config.width), [prompts.length, config.width]);
      return Object.fromEntries(rnnStates(config).map((name) => [name, zeros()]));
    }
    const sources = prompts.map(({ source = new Int32Array(0) }) => source);
    const time = roundedLength(longestOf(sources));
    const lengths = integers(sources.map((ids) => ids.length));
    return { ...(await encode(time)({ source: padded(sources, time), lengths })), lengths };
  }
}

/** These rows of an array. */
function picked({ dtype, shape, data }: HostArray, rows: readonly number[]): HostArray {
  const length = data.length / shape[0];
  const kept = emptyArray(dtype, rows.length * length);
  for (const [i, row] of rows.entries()) kept.set(data.subarray(row * length, (row + 1) * length) as never, i * length);
  return { dtype, shape: [rows.length, ...shape.slice(1)], data: kept };
}

/** The rows of both, one after the other. Sources of different lengths get the longer one's room. */
function joined(before: Arrays, after: Arrays): Arrays {
  return Object.fromEntries(Object.entries(before).map(([name, a]) => [name, stacked(a, after[name])]));
}

function stacked(a: HostArray, b: HostArray): HostArray {
  const time = Math.max(a.shape[1] ?? 1, b.shape[1] ?? 1);
  const roomy = a.shape.length === 3 ? [a, b].map((x) => lengthened(x, time)) : [a, b];
  const data = emptyArray(a.dtype, roomy[0].data.length + roomy[1].data.length);
  data.set(roomy[0].data as never, 0);
  data.set(roomy[1].data as never, roomy[0].data.length);
  return { dtype: a.dtype, shape: [a.shape[0] + b.shape[0], ...roomy[0].shape.slice(1)], data };
}

/** [row, time, width] with room for a longer time. */
function lengthened({ dtype, shape: [rows, time, width], data }: HostArray, longer: number): HostArray {
  const room = emptyArray(dtype, rows * longer * width);
  for (let row = 0; row < rows; row++) room.set(data.subarray(row * time * width, (row + 1) * time * width) as never, row * longer * width);
  return { dtype, shape: [rows, longer, width], data: room };
}
