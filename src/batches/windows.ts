import { array } from "../base/arrays.ts";
import type { Chance } from "../base/chance.ts";
import { DataError } from "../base/errors.ts";
import { type Sentence, sentence, setting } from "../base/sentence.ts";
import { type Batch, type Batches, ignored, rowsOf, wholeBatch } from "./batch.ts";
import type { Ids } from "./ids.ts";
import { permutation } from "./permutation.ts";

// Windows cut from one long text: what a language model is trained on, and what it is scored on.

export interface WindowOptions {
  readonly batch: number;
  readonly context: number;
}

/**
 * Training windows. Each epoch cuts the text at another random offset, one window after the other, and takes them in a random order;
 * both follow from the chance and the epoch.
 */
export function trainingWindows(ids: Ids, { batch, context }: WindowOptions, chance: Chance): Batches {
  const windows = Math.floor((ids.length - 1) / context) - 1; // one less, so that every offset below `context` leaves room
  const perEpoch = Math.floor(windows / batch);
  if (perEpoch < 1) throw new DataError(tooShort(ids.length, { batch, context }), { code: "data.too-little" });
  let current: { epoch: number; offset: number; order: (place: number) => number } | undefined;
  return {
    perEpoch,
    batch(index, slice = wholeBatch) {
      const epoch = Math.floor(index / perEpoch);
      if (current?.epoch !== epoch) {
        const source = chance.fork("windows").fork(epoch);
        current = { epoch, offset: source.integer(0, context), order: permutation(windows, source) };
      }
      const { offset, order } = current;
      const rows = rowsOf(batch, slice);
      const first = (index % perEpoch) * batch + rows.first;
      const starts = Array.from({ length: rows.count }, (_, row) => offset + order(first + row) * context);
      return { ...windowBatch(ids, starts, context), rows };
    },
  };
}

function tooShort(tokens: number, { batch, context }: WindowOptions): Sentence {
  const need = (batch + 1) * context + 1;
  return sentence`the text has ${tokens} tokens, and one batch of ${batch} windows of ${context} needs ${need}; give more text, or a smaller ${setting("batch")} or ${setting("context")}`;
}

function windowBatch(ids: Ids, starts: readonly number[], context: number): Batch {
  const [inputs, targets] = [new Int32Array(starts.length * context), new Int32Array(starts.length * context)];
  const window = new Int32Array(context + 1);
  for (const [row, start] of starts.entries()) {
    ids.read(start, window);
    inputs.set(window.subarray(0, context), row * context);
    targets.set(window.subarray(1), row * context);
  }
  const shape = [starts.length, context];
  return {
    feeds: { ids: array("int32", inputs, shape), targets: array("int32", targets, shape) },
    targets: inputs.length,
    tokens: inputs.length,
    places: inputs.length,
  };
}

export interface ScoringOptions extends WindowOptions {
  /** What stands before the first token, so that it too is foretold. */
  readonly before: number;
  /** At most so many windows, spread evenly over the text; all of them if left out. */
  readonly windows?: number;
}

/** Consecutive windows that do not overlap: every token is a target once. The last one may be short; its rest is ignored. */
export function* scoringWindows(
  ids: Ids,
  { batch, context, before, windows = Number.POSITIVE_INFINITY }: ScoringOptions,
): Generator<Batch> {
  const all = Math.ceil(ids.length / context);
  const count = Math.min(all, Math.max(1, windows));
  for (let first = 0; first < count; first += batch) {
    const rows = Math.min(batch, count - first);
    const [inputs, targets] = [new Int32Array(rows * context), new Int32Array(rows * context).fill(ignored)];
    let tokens = 0;
    for (let row = 0; row < rows; row++) {
      const start = Math.floor(((first + row) * all) / count) * context;
      const window = new Int32Array(Math.min(context, ids.length - start));
      ids.read(start, window);
      targets.set(window, row * context);
      tokens += window.length;
      const previous = new Int32Array([before]);
      if (start > 0) ids.read(start - 1, previous);
      inputs[row * context] = previous[0];
      inputs.set(window.subarray(0, window.length - 1), row * context + 1);
    }
    const shape = [rows, context];
    yield {
      feeds: { ids: array("int32", inputs, shape), targets: array("int32", targets, shape) },
      targets: tokens,
      tokens,
      places: inputs.length,
    };
  }
}
