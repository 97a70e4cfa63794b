import { ConfigError } from "../base/errors.ts";
import type { RnnConfig } from "../models/config.ts";
import { rnnEncode, rnnStates, rnnStep, writtenOut } from "../models/rnn.ts";
import { type CompileOptions, compile } from "../runtime/compile.ts";
import { freeMemoryOf } from "../runtime/device.ts";
import type { Arrays } from "../runtime/session.ts";
import { bytesOf } from "./kept-rows.ts";
import { count, refuseOver } from "./memory.ts";
import { roundedLength } from "./padded.ts";
import { gathered, goneOn, type Parts, RnnArrival, type Step } from "./recurrent-arrival.ts";
import {
  type Arrival,
  type Beginning,
  checkPrompt,
  isIdentity,
  type Next,
  notHere,
  type Prompt,
  type ReadingUse,
  type RowSize,
  type Speaker,
  type Speech,
  unread,
} from "./speech.ts";

/** An RNN: all that it keeps of the tokens before is its state. */
export function rnnSpeaker(given: RnnConfig, options: CompileOptions): Speaker {
  // Not every engine has loops, and what changes products finds none inside one.
  const config = options.rewrite || !options.device.engine.can("scans") ? writtenOut(given) : given;
  const scanned = config.recurrence === "scanned";
  const made = new Map<string, { run(feeds: never): Promise<Arrays>; release(): Promise<void> }>();
  const session = (key: string, make: () => ReturnType<typeof rnnStep>, bind: CompileOptions["bind"]): Step => {
    const found = made.get(key) ?? compile(make(), { ...options, symbols: "open", bind });
    made.set(key, found);
    return (feeds) => found.run(feeds as never);
  };
  const over = (axis: string, length: number, make: () => ReturnType<typeof rnnStep>): Step =>
    scanned ? session(axis, make, {}) : session(`${axis} ${length}`, make, { [axis]: length });
  const parts: Parts = {
    config,
    // One step needs no loop.
    step: (time) => (time === 1 ? session("one", () => rnnStep(writtenOut(config)), { time }) : over("time", time, () => rnnStep(config))),
    encode: (sourceTime) => over("sourceTime", sourceTime, () => rnnEncode(config) as never),
  };
  const sourceVocab = config.task === "lm" ? undefined : (config.sourceVocab ?? config.vocab);
  const memory = freeMemoryOf(options.device);
  return {
    vocab: config.vocab,
    longest: config.task === "lm" ? Number.POSITIVE_INFINITY : config.context,
    check(prompt) {
      checkPrompt(prompt, config.vocab, sourceVocab);
      if (sourceVocab !== undefined && !scanned) refuseUnrolled(config, prompt.source?.length ?? 0, options);
    },
    fits: (rows, bytes = memory) => rowBytes(config, rows) * rows.length <= bytes,
    begin: () => new RnnSpeech(parts),
    release: async () => {
      for (const one of made.values()) await one.release();
    },
  };
}

/** What is kept of a row: its states, and those of a source, with room for the longest of all rows. */
function rowBytes(config: RnnConfig, rows: readonly RowSize[]): number {
  const source = config.task === "lm" ? 0 : roundedLength(rows.reduce((most, row) => Math.max(most, row.source), 0));
  return 4 * config.width * (rnnStates(config).length + source);
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

  get bytes(): number {
    return bytesOf(this.#kept);
  }

  async join(prompts: readonly Prompt[]): Promise<Next[]> {
    const arrival = this.arrive(prompts, undefined, "for itself");
    while (arrival.left > 0) await arrival.read(Number.POSITIVE_INFINITY);
    return this.admit(arrival);
  }

  arrive(prompts: readonly Prompt[], beginnings?: readonly (Beginning | undefined)[], use?: ReadingUse): RnnArrival {
    return new RnnArrival(this.#parts, prompts, beginnings, use);
  }

  admit(arrival: Arrival): Next[] {
    if (!(arrival instanceof RnnArrival && arrival.parts === this.#parts)) throw new ConfigError(notHere);
    if (arrival.left > 0) throw new ConfigError(unread(arrival.left));
    if (arrival.lengths.length === 0) return [];
    const before = this.#lengths.map((_, row) => ({ arrays: this.#kept, row }));
    const joining = arrival.lengths.map((_, row) => ({ arrays: arrival.kept, row }));
    this.#kept = before.length > 0 ? gathered([...before, ...joining]) : arrival.kept;
    this.#lengths = [...this.#lengths, ...arrival.lengths];
    return arrival.next;
  }

  async next(tokens: readonly number[]): Promise<Next[]> {
    const { kept, next } = await goneOn(
      this.#parts,
      this.#kept,
      tokens.map((token) => [token]),
    );
    this.#kept = kept;
    this.#lengths = this.#lengths.map((length) => length + 1);
    return next;
  }

  keep(rows: readonly number[]): void {
    if (isIdentity(rows, this.#lengths.length)) return;
    this.#kept = rows.length > 0 ? gathered(rows.map((row) => ({ arrays: this.#kept, row }))) : {};
    this.#lengths = rows.map((row) => this.#lengths[row]);
  }
}
