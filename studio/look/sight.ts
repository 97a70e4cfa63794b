import type { Answers, ModelFacts } from "../../src/protocol/messages.ts";

// What is looked at: a model at a step, while it reads a text. Every room of Look gets it.

export interface Sight {
  /** The run's name. */
  readonly name: string;
  /** A checkpoint's step; the best weights if left out. */
  readonly step: number | undefined;
  readonly facts: ModelFacts;
  readonly text: string;
  /** What is said of the text, where a model reads one text and writes another. */
  readonly target: string | undefined;
  readonly tokens: readonly string[];
  readonly targetTokens: readonly string[] | undefined;
  /** What can be tapped in this model, what it has learned, and the ids of the tokens. */
  readonly inside: Pick<Answers["taps"], "taps" | "parameters" | "ids" | "targetIds">;
  /** The token whose way is followed: of the target where there is one. */
  readonly pinned: number | undefined;
  pin(place: number | undefined): void;
}

/** What changes when something else is looked at: for the inputs of questions. */
export const keyOf = ({ name, step, text, target }: Sight): string => JSON.stringify([name, step, text, target]);

/** The tokens that the model goes on with: those of the target where there is one. */
export const ownTokens = ({ tokens, targetTokens }: Sight): readonly string[] => targetTokens ?? tokens;

/** The position whose answer is asked for: the pinned token's, else the last; a whole text has one answer. */
export const answerAt = (sight: Sight): number | undefined =>
  sight.facts.task === "classify" ? undefined : (sight.pinned ?? ownTokens(sight).length - 1);

/** What every question about this sight is asked with. */
export const askedWith = ({ target }: Sight, signal?: AbortSignal) => ({
  ...(target !== undefined && { target }),
  ...(signal && { signal }),
  warn: () => {},
});
