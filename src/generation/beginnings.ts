import { EngineError } from "../base/errors.ts";
import type { Beginning, Prompt } from "./speech.ts";

// What two prompts have in common.

/** How many of the first tokens are the same. */
export function sharedTokens(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const most = Math.min(a.length, b.length);
  let count = 0;
  while (count < most && a[count] === b[count]) count++;
  return count;
}

/** Both read the same source, or neither reads any. */
export function sameSource({ source: a }: Prompt, { source: b }: Prompt): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && sharedTokens(a, b) === a.length;
}

/**
 * Refuses a beginning that is not the prompt's own: what was read of something else would go on as if it were its own, which is the worst
 * of all errors. One token at least is left, for there are no scores without it.
 */
export function checkBeginning(prompt: Prompt, { known, prompt: row, tokens }: Beginning): void {
  const other = known.prompts[row];
  const isOwn =
    other !== undefined &&
    sameSource(prompt, other) &&
    tokens < prompt.ids.length &&
    sharedTokens(prompt.ids, other.ids) >= tokens &&
    known.reach(row, tokens) === tokens;
  if (!isOwn) throw new EngineError(`the first ${tokens} tokens of a prompt are not those that were read of another`);
}

/** A prompt that stays what it is, whatever becomes of the one that was given. */
export const ownPrompt = ({ ids, source }: Prompt): { readonly ids: Int32Array; readonly source?: Int32Array } => ({
  ids: Int32Array.from(ids),
  ...(source && { source: source.slice() }),
});
