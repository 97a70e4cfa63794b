import type { TextFrame, Tokenizer } from "./tokenizer.ts";

// The ids of a text as a model from elsewhere reads it, with what its tokenizer wants around one ([CLS] … [SEP]). Where a tokenizer has
// no `frame`, as all of our own, nothing changes.

type Framed = Pick<Tokenizer, "frame">;

const nothing: TextFrame = { before: [], after: [] };

export const frameOf = ({ frame = nothing }: Framed): TextFrame => frame;

/** Ids with what stands before and after a text; `filler` in the places of these, for what belongs to ids. */
export function around(ids: Int32Array, tokenizer: Framed, filler?: number): Int32Array {
  const { before, after } = frameOf(tokenizer);
  if (before.length + after.length === 0) return ids;
  const all = new Int32Array(before.length + ids.length + after.length);
  if (filler === undefined) {
    all.set(before);
    all.set(after, before.length + ids.length);
  } else all.fill(filler);
  all.set(ids, before.length);
  return all;
}

/** A text that goes on, with what stands before one; where it has that already, as chats do, it is left as it is. */
export function begun(ids: Int32Array, tokenizer: Framed): Int32Array {
  const { before } = frameOf(tokenizer);
  if (ids.length === 0 || before.length === 0 || before.every((id, i) => ids[i] === id)) return ids;
  return Int32Array.from([...before, ...ids]);
}

/** The first of them, at most so many, of which the last are what stands after a text. */
export function cutAround(ids: Int32Array, most: number, tokenizer: Framed, filler?: number): Int32Array {
  const { after } = frameOf(tokenizer);
  if (ids.length <= most) return ids;
  if (after.length === 0 || most <= after.length) return ids.subarray(0, most);
  const kept = ids.slice(0, most);
  if (filler === undefined) kept.set(after, most - after.length);
  else kept.fill(filler, most - after.length);
  return kept;
}

/** A tokenizer.json for whoever reads on with a model that read texts without anything around them, whatever the file was made for. */
export const plainJson = ({ json }: Pick<Tokenizer, "json">): object => ({ ...json, post_processor: null });

/** The same tokenizer for texts that nothing stands around. */
export function unframed(tokenizer: Tokenizer): Tokenizer {
  const { frame: _, ...others } = tokenizer;
  return others;
}
