import type { ModelFacts } from "../../src/protocol/messages.ts";

/** Who is asked: a model as it was after a step. Every room of Ask gets it. */
export interface Asked {
  /** The run's name. */
  readonly name: string;
  /** A checkpoint's step; the best weights if left out. */
  readonly step: number | undefined;
  readonly facts: ModelFacts;
  /** A text that fits the model, for whoever has none yet. */
  readonly example: string;
}

/** What is noteworthy is shown where it belongs, or not at all: nobody reads a console. */
export const quiet = { warn: () => {} };
