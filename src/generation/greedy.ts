import type { ParameterBuffer } from "../graph/parameters.ts";
import type { ModelConfig } from "../models/any.ts";
import { highest } from "./sampling.ts";
import { speakerOf } from "./speaker.ts";
import type { Speaker } from "./speech.ts";

export interface GreedyOptions {
  /** The ids that begin and end a target. */
  readonly start: number;
  readonly end: number;
  readonly threads?: number;
}

/** Targets for sources, the likeliest token each time. */
export class Greedy {
  readonly #options: GreedyOptions;
  readonly #speaker: Speaker;

  constructor(model: ModelConfig, weights: ParameterBuffer, options: GreedyOptions) {
    this.#options = options;
    this.#speaker = speakerOf(model, { weights, threads: options.threads });
  }

  /** One target for each source, without its beginning and its end; at most a context long. */
  async translate(sources: readonly Int32Array[]): Promise<Int32Array[]> {
    const { start, end } = this.#options;
    const speech = this.#speaker.begin();
    const targets: number[][] = sources.map(() => []);
    let open = [...sources.keys()];
    let next = await speech.join(sources.map((source) => ({ ids: [start], source })));
    for (;;) {
      const tokens = next.map(({ scores }) => highest(scores));
      const going = [...open.keys()].filter((i) => tokens[i] !== end);
      for (const i of going) targets[open[i]].push(tokens[i]);
      open = going.map((i) => open[i]);
      if (open.length === 0 || speech.lengths[0] >= this.#speaker.longest) return targets.map((ids) => Int32Array.from(ids));
      speech.keep(going);
      next = await speech.next(going.map((i) => tokens[i]));
    }
  }

  release(): Promise<void> {
    return this.#speaker.release();
  }
}
