import type { TensorFunction } from "../graph/graph.ts";
import { readsSource, takesAnyLength } from "../models/any.ts";
import type { DecoderConfig, EncoderDecoderConfig } from "../models/config.ts";
import { decoderWhole } from "../models/decoder.ts";
import { encoderDecoderWhole } from "../models/encoder-decoder.ts";
import type { OwnModel } from "../models/own.ts";
import { type CompileOptions, compile } from "../runtime/compile.ts";
import type { Arrays } from "../runtime/session.ts";
import { memoryOf, refusePairs } from "./memory.ts";
import { lengthsOf, longestOf, padded } from "./padded.ts";
import { checkPrompt, type Next, nextOf, type Prompt, type Speaker, type Speech } from "./speech.ts";

/**
 * A model that cannot keep anything of earlier tokens: a Transformer in which they look at later ones (no mask, or one after the softmax),
 * or a model of one's own. It reads everything again for each token.
 */
export function wholeSpeaker(config: DecoderConfig | EncoderDecoderConfig | OwnModel, options: CompileOptions): Speaker {
  const { vocab, context } = config;
  const whole = compile(wholeOf(config), { ...options, symbols: takesAnyLength(config) ? "open" : "bound", sessions: 16 });
  const memory = memoryOf(config, options.device);
  const perToken = 2 * 4 * vocab; // every position is scored, and the scores are there twice
  const parts: Parts = {
    run: (feeds) => whole.run(feeds),
    rowsAtOnce: (time, sourceTime) => Math.floor(memory.run / (memory.pair * (time + sourceTime) ** 2 + perToken * time)),
  };
  return {
    vocab,
    longest: context,
    check({ ids, source }, tokens) {
      const reads = readsSource(config);
      checkPrompt({ ids, source }, vocab, reads ? ("sourceVocab" in config && config.sourceVocab) || vocab : undefined);
      if (reads) refusePairs("a source", source?.length ?? 0, memory);
      refusePairs(
        config.model === "own" ? "a text" : "without a causal mask, a text",
        Math.min(context, ids.length + tokens),
        memory,
        perToken,
      );
    },
    begin: () => new WholeSpeech(parts),
    release: () => whole.release(),
  };
}

function wholeOf(config: DecoderConfig | EncoderDecoderConfig | OwnModel): TensorFunction {
  switch (config.model) {
    case "decoder":
      return decoderWhole(config);
    case "encoder-decoder":
      return encoderDecoderWhole(config);
    case "own":
      return config.whole();
  }
}

interface Parts {
  run(feeds: Arrays): Promise<Arrays>;
  /** How many rows a run has memory for, each of so many tokens with a source of so many. */
  rowsAtOnce(time: number, sourceTime: number): number;
}

interface Row {
  readonly ids: readonly number[];
  readonly source?: Int32Array;
}

class WholeSpeech implements Speech {
  readonly #parts: Parts;
  #rows: Row[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get lengths(): readonly number[] {
    return this.#rows.map(({ ids }) => ids.length);
  }

  async join(prompts: readonly Prompt[]): Promise<Next[]> {
    const rows = prompts.map(({ ids, source }) => ({ ids: Array.from(ids), source }));
    const next = await this.#scores(rows);
    this.#rows = [...this.#rows, ...rows];
    return next;
  }

  async next(tokens: readonly number[]): Promise<Next[]> {
    const rows = this.#rows.map(({ ids, source }, i) => ({ ids: [...ids, tokens[i]], source }));
    const next = await this.#scores(rows);
    this.#rows = rows;
    return next;
  }

  keep(rows: readonly number[]): void {
    this.#rows = rows.map((row) => this.#rows[row]);
  }

  /** Without a mask, padding would be seen: only rows of one length run together. */
  async #scores(rows: readonly Row[]): Promise<Next[]> {
    const scores: Next[] = new Array(rows.length);
    for (const length of new Set(rows.map(({ ids }) => ids.length))) {
      const alike = [...rows.keys()].filter((row) => rows[row].ids.length === length);
      const sourceTime = longestOf(alike.map((row) => rows[row].source ?? []));
      const atOnce = Math.max(1, this.#parts.rowsAtOnce(length, sourceTime));
      for (let first = 0; first < alike.length; first += atOnce) {
        const members = alike.slice(first, first + atOnce);
        const found = await this.#run(members.map((row) => rows[row]));
        for (const [i, next] of found.entries()) scores[members[i]] = next;
      }
    }
    return scores;
  }

  async #run(rows: readonly Row[]): Promise<Next[]> {
    const sources = rows.map(({ source }) => source).filter((source) => source !== undefined);
    const ids = padded(rows.map((row) => row.ids));
    return nextOf(await this.#parts.run(sources.length > 0 ? { ids, source: padded(sources), lengths: lengthsOf(sources) } : { ids }));
  }
}
