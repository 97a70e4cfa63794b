import type { TrainedModel } from "../trained/trained.ts";
import { type Activation, activationOf, observe } from "./observe.ts";
import { type Read, type ReadingOptions, readingOf } from "./reading.ts";
import { chosenTaps } from "./taps.ts";

export interface Looked {
  /** A label for each position of the text. */
  readonly tokens: readonly string[];
  /** A label for each position that a decoder reads of the target (`<s>` first), where there is a target. */
  readonly targetTokens?: readonly string[];
  /** Every tap that was asked for, by name. */
  readonly activations: ReadonlyMap<string, Activation>;
}

/** Runs a text through a model and gives back what its taps saw. `*` in a name stands for any characters. */
export async function look(run: TrainedModel, text: Read, names: readonly string[], options: ReadingOptions = {}): Promise<Looked> {
  const wanted = chosenTaps(run.model, names);
  const reading = await readingOf(run, text, options);
  const results = await observe(run, reading, { taps: wanted.map(({ name }) => name) });
  return {
    tokens: reading.tokens,
    ...(reading.target && { targetTokens: reading.target.read }),
    activations: new Map(wanted.map((tap) => [tap.name, activationOf(tap, results[tap.name])])),
  };
}

/** Which attention is looked at: a decoder's own, a decoder's over the encoder (or an RNN's alignment), an encoder's own. */
export const attentionKinds = ["self", "cross", "encoder"] as const;
export type AttentionKind = (typeof attentionKinds)[number];

/** The attention of some layers and heads over one text. Rows are queries (targetTokens), columns are keys (tokens). */
export interface AttentionLook {
  readonly tokens: readonly string[];
  readonly targetTokens: readonly string[];
  readonly kind: AttentionKind;
  /** What a row is: a distribution over the keys, if nothing is said; or any numbers, without a softmax or where a mask takes some of it away. */
  readonly rows?: "distributions" | "weights";
  readonly layers: readonly AttentionLayer[];
}

export interface AttentionLayer {
  readonly layer: number;
  readonly heads: readonly AttentionHead[];
}

export interface AttentionHead {
  readonly head: number;
  /** [query][key] */
  readonly pattern: readonly (readonly number[])[];
}
