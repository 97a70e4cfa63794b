import type { ModelConfig } from "../models/any.ts";
import { beamSearch, type Hypothesis } from "./beam.ts";
import type { SpeakerOptions } from "./memory.ts";
import { speakerOf } from "./speaker.ts";
import type { Speaker } from "./speech.ts";

export interface TranslatorOptions extends SpeakerOptions {
  /** The ids that begin and end a target. */
  readonly start: number;
  readonly end: number;
  /** Tokens that are never written. */
  readonly forbidden?: ReadonlySet<number>;
}

export interface TranslateOptions {
  /** How many translations are followed at once; 1 takes the likeliest token each time. */
  readonly beams?: number;
  readonly lengthPenalty?: number;
}

/** Rows that go on together. */
const rowsAtOnce = 64;

/** Targets for sources, from a model that reads one and writes the other. */
export class Translator {
  readonly #options: TranslatorOptions;
  readonly #speaker: Speaker;

  constructor(model: ModelConfig, options: TranslatorOptions) {
    this.#options = options;
    this.#speaker = speakerOf(model, options);
  }

  /** The best target for each source, at most a context long. Sources of like length go together. */
  async translate(sources: readonly Int32Array[], { beams = 1, lengthPenalty }: TranslateOptions = {}): Promise<Hypothesis[]> {
    const { start, end, forbidden } = this.#options;
    const order = [...sources.keys()].sort((a, b) => sources[a].length - sources[b].length || a - b);
    const found: Hypothesis[] = new Array(sources.length);
    const count = Math.max(1, Math.floor(rowsAtOnce / beams));
    for (let first = 0; first < order.length; first += count) {
      const members = order.slice(first, first + count);
      const prompts = members.map((i) => ({ ids: [start], source: sources[i] }));
      const best = await beamSearch(this.#speaker, prompts, { beams, lengthPenalty, end, forbidden, tokens: this.#speaker.longest });
      for (const [row, i] of members.entries()) found[i] = best[row][0];
    }
    return found;
  }

  release(): Promise<void> {
    return this.#speaker.release();
  }
}
