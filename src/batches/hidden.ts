import { type Chance, chance } from "../base/chance.ts";
import { ConfigError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { around } from "../tokens/around.ts";
import type { TextFrame } from "../tokens/tokenizer.ts";
import { type Batch, type Batches, ignored } from "./batch.ts";
import { type TaggedIds, taggedLayout } from "./examples.ts";
import type { Ids } from "./ids.ts";
import { permutation } from "./permutation.ts";
import { scoringWindows, trainingWindows, type WindowOptions } from "./windows.ts";

// Windows of text in which some tokens are hidden, to be found again (Devlin et al. 2019).

/** What is hidden, and how. */
export interface Hiding {
  /** The token that stands where another is hidden. */
  readonly mask: number;
  /** The tokens that may be put in the place of others: all that are not special. */
  readonly ordinary: Int32Array;
  /** Whether a token may be hidden: the same ones. */
  mayHide(id: number): boolean;
  /** What stands before and after each window; it is never hidden. */
  readonly frame: TextFrame;
}

/** Of the tokens that may be hidden. */
const hiddenShare = 0.15;
/** Of those that are: so many are masked, so many become another token, and the rest stays, so that what is seen is not always to be trusted. */
const maskedShare = 0.8;
const otherShare = 0.1;

/** How many of so many tokens are hidden; of a window, at most. */
export const mostHidden = (tokens: number): number => Math.max(1, Math.round(hiddenShare * tokens));

/** A window with some of its tokens hidden, at least one if any may be; what is not hidden has no target. */
export function hide(window: Int32Array, { mask, ordinary, mayHide, frame }: Hiding, source: Chance): TaggedIds {
  const places = [...window.keys()].filter((place) => mayHide(window[place]));
  const [ids, tags] = [window.slice(), new Int32Array(window.length).fill(ignored)];
  const count = places.length === 0 ? 0 : mostHidden(places.length);
  const order = permutation(places.length, source.fork("which"));
  const [how, other] = [source.fork("how"), source.fork("other")];
  for (let i = 0; i < count; i++) {
    const place = places[order(i)];
    tags[place] = window[place];
    const drawn = how.uniform(i);
    if (drawn < maskedShare) ids[place] = mask;
    else if (drawn < maskedShare + otherShare) ids[place] = ordinary[other.integer(i, ordinary.length)];
  }
  return { ids: around(ids, { frame }), tags: around(tags, { frame }, ignored) };
}

const batchOf = (rows: readonly TaggedIds[], context: number): Batch => taggedLayout.batch(rows, rows.length, [context]);

/** Training windows: those of a language model, with other tokens hidden in every batch, which follows from the chance and its number. */
export function hiddenWindows(ids: Ids, { batch, context }: WindowOptions, hiding: Hiding, source: Chance): Batches {
  const inner = roomIn(context, hiding);
  const windows = trainingWindows(ids, { batch, context: inner }, source);
  return {
    perEpoch: windows.perEpoch,
    batch(index, slice) {
      const own = source.fork("hidden").fork(index);
      const { feeds, rows } = windows.batch(index, slice);
      const hidden = windowsIn(feeds.ids.data as Int32Array, inner).map((row, i) => hide(row, hiding, own.fork((rows?.first ?? 0) + i)));
      return { ...batchOf(hidden, context), ...(rows && { rows }) };
    },
  };
}

/** Consecutive windows, in which the same tokens are hidden every time. */
export function* hiddenScoring(
  ids: Ids,
  { batch, context, windows }: WindowOptions & { readonly windows?: number },
  hiding: Hiding,
): Generator<Batch> {
  const inner = roomIn(context, hiding);
  const source = chance(0).fork("hidden");
  let window = 0;
  for (const { feeds } of scoringWindows(ids, { batch, context: inner, before: 0, windows })) {
    const rows = windowsIn(feeds.targets.data as Int32Array, inner).map((row) => {
      const end = row.indexOf(ignored); // the last window may be short
      return hide(end < 0 ? row : row.subarray(0, end), hiding, source.fork(window++));
    });
    yield batchOf(rows, context);
  }
}

/** Whether any of the ids may be hidden: where all are special or unknown, there is nothing to find. */
export function anyToHide(ids: Ids, { mayHide }: Pick<Hiding, "mayHide">): boolean {
  const part = new Int32Array(4096);
  for (let at = 0; at < ids.length; at += part.length) {
    const some = part.subarray(0, Math.min(part.length, ids.length - at));
    ids.read(at, some);
    if (some.some(mayHide)) return true;
  }
  return false;
}

const windowsIn = (data: Int32Array, length: number): Int32Array[] =>
  Array.from({ length: data.length / length }, (_, row) => data.subarray(row * length, (row + 1) * length));

/** Tokens of a window, without what stands around it. */
export function roomIn(context: number, { frame: { before, after } }: Pick<Hiding, "frame">): number {
  const around = before.length + after.length;
  if (context > around) return context - around;
  throw new ConfigError(
    sentence`a window has ${context} tokens, of which ${around} stand around a text, so nothing is left to hide; choose a larger ${setting("context")}`,
    { code: "config.range", path: "model.context" },
  );
}
