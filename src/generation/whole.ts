import type { DecoderConfig, EncoderDecoderConfig } from "../models/config.ts";
import { decoderWhole } from "../models/decoder.ts";
import { encoderDecoderWhole } from "../models/encoder-decoder.ts";
import { type CompileOptions, compile } from "../runtime/compile.ts";
import type { Arrays } from "../runtime/session.ts";
import { lengthsOf, padded } from "./padded.ts";
import { checkPrompt, type Next, nextOf, type Prompt, type Speaker, type Speech } from "./speech.ts";

/**
 * A Transformer that cannot keep anything of earlier tokens, since they look at later ones (no mask, or one after the softmax). It
 * reads everything again for each token.
 */
export function wholeSpeaker(config: DecoderConfig | EncoderDecoderConfig, options: CompileOptions): Speaker {
  const fn = config.model === "decoder" ? decoderWhole(config) : encoderDecoderWhole(config);
  const whole = compile(fn, { ...options, symbols: "open" });
  const run = (feeds: Arrays) => whole.run(feeds as never) as Promise<Arrays>;
  const sourceVocab = config.model === "decoder" ? undefined : (config.sourceVocab ?? config.vocab);
  return {
    vocab: config.vocab,
    longest: config.context,
    check: (prompt) => checkPrompt(prompt, config.vocab, sourceVocab),
    begin: () => new WholeSpeech(run),
    release: () => whole.release(),
  };
}

interface Row {
  readonly ids: readonly number[];
  readonly source?: Int32Array;
}

class WholeSpeech implements Speech {
  readonly #run: (feeds: Arrays) => Promise<Arrays>;
  #rows: Row[] = [];

  constructor(run: (feeds: Arrays) => Promise<Arrays>) {
    this.#run = run;
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
    this.#rows = this.#rows.map(({ ids, source }, i) => ({ ids: [...ids, tokens[i]], source }));
    return this.#scores(this.#rows);
  }

  keep(rows: readonly number[]): void {
    this.#rows = rows.map((row) => this.#rows[row]);
  }

  /** Without a mask, padding would be seen: only rows of one length run together. */
  async #scores(rows: readonly Row[]): Promise<Next[]> {
    const scores: Next[] = new Array(rows.length);
    for (const length of new Set(rows.map(({ ids }) => ids.length))) {
      const members = [...rows.keys()].filter((row) => rows[row].ids.length === length);
      const sources = members.map((row) => rows[row].source).filter((source) => source !== undefined);
      const feeds = { ids: padded(members.map((row) => rows[row].ids)) };
      const results = await this.#run(sources.length > 0 ? { ...feeds, source: padded(sources), lengths: lengthsOf(sources) } : feeds);
      for (const [i, found] of nextOf(results).entries()) scores[members[i]] = found;
    }
    return scores;
  }
}
