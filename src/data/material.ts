import { chance } from "../base/chance.ts";
import type { Batch, Batches } from "../batches/batch.ts";
import { cut } from "../batches/encode.ts";
import { type Layout, scoringBatches, trainingBatches } from "../batches/examples.ts";
import { scoringWindows, trainingWindows } from "../batches/windows.ts";
import { type ModelConfig, takesAnyLength } from "../models/any.ts";
import type { RunConfig } from "../runs/config.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { Encoded, EncodedExamples, EncodedText } from "./encoded.ts";
import { separator } from "./tokenised.ts";

/** What training is fed: batches by number, and the batches to validate with. */
export interface Material {
  readonly batches: Batches;
  readonly validation?: () => Iterable<Batch>;
  /** The share of the training batches that is padding. */
  readonly padding: number;
  readonly warnings: readonly string[];
  close(): void;
}

/** While training, more than this would only cost time; `eval` scores everything. */
const mostValidationTokens = 65_536;
/** Tokens in a batch that is only scored, and the most scores that they may have together: these fill the memory. */
const scoringTokens = 4096;
const mostScores = 4_000_000;

export const scoringRows = ({ context, vocab }: ModelConfig): number =>
  Math.max(1, Math.floor(Math.min(scoringTokens, mostScores / vocab) / context));

export function materialOf(encoded: Encoded, config: Pick<RunConfig, "model" | "training">, tokenizer: Tokenizer): Material {
  return encoded.kind === "text" ? textMaterial(encoded, config, tokenizer) : exampleMaterial(encoded, config);
}

function textMaterial(
  { train, valid }: EncodedText,
  { model, training }: Pick<RunConfig, "model" | "training">,
  tokenizer: Tokenizer,
): Material {
  const { context } = model;
  const { batch, seed } = training;
  const windows = Math.ceil(mostValidationTokens / context);
  const before = separator(tokenizer) ?? 0;
  return {
    batches: trainingWindows(train.ids, { batch, context }, chance(seed)),
    ...(valid && { validation: () => scoringWindows(valid.ids, { batch: scoringRows(model), context, before, windows }) }),
    padding: 0,
    warnings: [],
    close() {
      train.ids.close();
      valid?.ids.close();
    },
  };
}

function exampleMaterial({ layout, train, valid }: EncodedExamples, { model, training }: Pick<RunConfig, "model" | "training">): Material {
  const { context } = model;
  const { batch, seed } = training;
  const shapes = takesAnyLength(model) ? "any" : "few";
  const [shorter, held] = [cut(train, context), cut(spread(valid, affordable(valid, layout)), context)];
  const batches = trainingBatches(shorter.examples, layout, { batch, shapes }, chance(seed));
  return {
    batches,
    ...(held.examples.length > 0 && { validation: () => scoringBatches(held.examples, layout, { batch, shapes }) }),
    padding: batches.padding,
    warnings: [
      ...cutWarning("training", shorter.count, train.length, context),
      ...cutWarning("validation", held.count, held.examples.length, context),
    ],
    close() {},
  };
}

const cutWarning = (part: string, count: number, all: number, context: number): string[] =>
  count > 0 ? [`${count} of ${all} ${part} examples are longer than the context of ${context} tokens and are cut`] : [];

/** How many examples of the usual length there are in the tokens that may be scored. */
function affordable<E>(examples: readonly E[], layout: Layout<E>): number {
  const tokens = examples.reduce((total, example) => total + layout.lengths(example).reduce((a, b) => a + b, 0), 0);
  return Math.ceil((examples.length * mostValidationTokens) / Math.max(1, tokens));
}

/** At most so many, evenly from the whole list. */
function spread<T>(list: readonly T[], most: number): readonly T[] {
  return list.length <= most ? list : Array.from({ length: most }, (_, i) => list[Math.floor((i * list.length) / most)]);
}
