import { chance } from "../base/chance.ts";
import { DataError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import type { Batch, Batches } from "../batches/batch.ts";
import { cut } from "../batches/encode.ts";
import { type Layout, scoringBatches, trainingBatches } from "../batches/examples.ts";
import { anyToHide, hiddenScoring, hiddenWindows } from "../batches/hidden.ts";
import type { Ids } from "../batches/ids.ts";
import { scoringWindows, trainingWindows } from "../batches/windows.ts";
import type { HubRecord } from "../hub/record.ts";
import { type ModelConfig, takesAnyLength, taskOf } from "../models/any.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { hidingOf } from "../trained/hiding.ts";
import { beforeText, cutSentence } from "../trained/reading.ts";
import { scoringRows } from "../training/score.ts";
import type { Encoded, EncodedExamples, EncodedText } from "./encoded.ts";

/** What training is fed: batches by number, and the batches to validate with. */
export interface Material {
  /** Windows of text, all of the same length, or examples that are filled up. */
  readonly kind: Encoded["kind"];
  readonly batches: Batches;
  /** What is scored at every validation, or all that is scored at the end. */
  readonly validation?: (amount?: "all") => Iterable<Batch>;
  /** The share of the training batches that is padding. */
  readonly padding: number;
  readonly warnings: readonly string[];
  close(): void;
}

/** While training, more than this would only cost time; `eval` scores everything. */
export const mostValidationTokens = 65_536;

/** Whom the batches are for. */
interface Reader {
  readonly model: ModelConfig;
  readonly training: {
    readonly batch: number;
    readonly seed: number;
    readonly accumulate?: number;
    readonly accumulates?: "rows";
    readonly evalTokens?: number;
  };
  readonly hub?: HubRecord;
}

/** Rows that one number of a batch stands for: those of a step, where it is one batch in parts. */
const rowsOf = ({ batch, accumulate = 1, accumulates }: Reader["training"]): number =>
  accumulates === "rows" ? batch * accumulate : batch;

export function materialOf(encoded: Encoded, reader: Reader, tokenizer: Tokenizer): Material {
  return encoded.kind === "text" ? textMaterial(encoded, reader, tokenizer) : exampleMaterial(encoded, reader, tokenizer);
}

function textMaterial({ train, valid }: EncodedText, { model, training, hub }: Reader, tokenizer: Tokenizer): Material {
  const { context } = model;
  const { seed } = training;
  const batch = rowsOf(training);
  const windowsIn = (tokens: number) => Math.ceil(Math.min(tokens, mostValidationTokens) / context);
  const { evalTokens = mostValidationTokens } = training;
  const hiding = taskOf(model) === "mlm" ? hidingOf({ tokenizer, hub }) : undefined;
  for (const [part, found] of Object.entries({ train, valid }))
    if (hiding && found && !anyToHide(found.ids, hiding))
      throw new DataError(
        sentence`no token of the ${part === "train" ? "text" : "text to validate with"} may be hidden: all ${found.ids.length} are unknown to the tokenizer, or special; give other texts, or a larger ${setting("vocab")}`,
      );
  const before = beforeText(tokenizer);
  const batches = hiding
    ? hiddenWindows(train.ids, { batch, context }, hiding, chance(seed))
    : trainingWindows(train.ids, { batch, context }, chance(seed));
  const scored = (ids: Ids, tokens: number) => {
    const scoring = { batch: scoringRows(model), context, windows: windowsIn(tokens) };
    return hiding ? hiddenScoring(ids, scoring, hiding) : scoringWindows(ids, { ...scoring, before });
  };
  return {
    kind: "text",
    batches,
    ...(valid && { validation: (amount) => scored(valid.ids, amount === "all" ? mostValidationTokens : evalTokens) }),
    padding: 0,
    warnings: [],
    close() {
      train.ids.close();
      valid?.ids.close();
    },
  };
}

function exampleMaterial({ layout, train, valid }: EncodedExamples, { model, training }: Reader, tokenizer: Tokenizer): Material {
  const { context } = model;
  const { batch, seed, evalTokens } = training;
  const shapes = takesAnyLength(model) ? "any" : "few";
  const { begin } = layout;
  const [shorter, held] = [cut(train, context, tokenizer, begin), cut(validationPart({ layout, valid }), context, tokenizer, begin)];
  const fewer = evalTokens === undefined ? held.examples : spread(held.examples, affordable(held.examples, layout, evalTokens));
  const batches = trainingBatches(shorter.examples, layout, { batch: rowsOf(training), shapes }, chance(seed));
  const scored = Math.min(rowsOf(training), Math.max(batch, scoringRows(model))); // of a batch that is accumulated all rows, as ranks have them, if they fit
  return {
    kind: "examples",
    batches,
    ...(held.examples.length > 0 && {
      validation: (amount) => scoringBatches(amount === "all" ? held.examples : fewer, layout, { batch: scored, shapes }),
    }),
    padding: batches.padding,
    warnings: [
      ...cutSentence(shorter.count, train.length, "training examples", context),
      ...cutSentence(held.count, held.examples.length, "validation examples", context),
    ],
    close() {},
  };
}

/** What of the examples that were held out is scored while training. */
export const validationPart = <E>({ layout, valid }: { readonly layout: Layout<E>; readonly valid: readonly E[] }): readonly E[] =>
  spread(valid, affordable(valid, layout, mostValidationTokens));

/** How many examples of the usual length there are in the tokens that may be scored. */
function affordable<E>(examples: readonly E[], layout: Layout<E>, most: number): number {
  const tokens = examples.reduce((total, example) => total + layout.lengths(example).reduce((a, b) => a + b, 0), 0);
  return Math.ceil((examples.length * most) / Math.max(1, tokens));
}

/** At most so many, evenly from the whole list. */
export function spread<T>(list: readonly T[], most: number): readonly T[] {
  return list.length <= most ? list : Array.from({ length: most }, (_, i) => list[Math.floor((i * list.length) / most)]);
}
