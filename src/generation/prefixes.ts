import { ConfigError } from "../base/errors.ts";
import { sameSource, sharedTokens } from "./beginnings.ts";
import type { Beginning, Known, Prompt } from "./speech.ts";

/** Fewer tokens are read again sooner than they are looked up and copied. */
export const fewestShared = 16;

/**
 * What was read of prompts, for those that begin alike: a system prompt, examples, the conversation so far. Of all that it was given it
 * keeps what was used last, up to so many bytes. It belongs to one model.
 */
export class Prefixes {
  readonly #most: number;
  /** The one that was used last is at the end. */
  readonly #known = new Set<Known>();

  constructor(bytes: number) {
    if (!(bytes >= 0)) throw new ConfigError(`a number of bytes is wanted, 0 or more, not ${bytes}`, { at: "prefixes" });
    this.#most = bytes;
  }

  get bytes(): number {
    return [...this.#known].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The longest beginning of a prompt that is known and worth it. The last token is always left to be read, for its scores. */
  find(prompt: Prompt): Beginning | undefined {
    const found = this.#longest(prompt);
    if (found) this.#use(found.known);
    return found;
  }

  /** Keeps what was read, if it is news and there is room. What it makes superfluous goes. */
  add(known: Known): void {
    if (known.bytes > this.#most || known.prompts.every((prompt) => !prompt || this.#isKnown(prompt))) return;
    for (const old of this.#known)
      if (old.prompts.every((prompt, i) => !prompt || isWithin(old, i, prompt, known))) this.#known.delete(old);
    this.#use(known);
    let { bytes } = this;
    for (const old of this.#known) {
      if (bytes <= this.#most) break;
      this.#known.delete(old);
      bytes -= old.bytes;
    }
  }

  clear(): void {
    this.#known.clear();
  }

  #use(known: Known): void {
    this.#known.delete(known);
    this.#known.add(known);
  }

  #longest(prompt: Prompt): Beginning | undefined {
    let best: Beginning | undefined;
    for (const known of this.#known)
      for (const [row, other] of known.prompts.entries()) {
        if (!other || !sameSource(prompt, other)) continue;
        const tokens = known.reach(row, Math.min(sharedTokens(prompt.ids, other.ids), prompt.ids.length - 1));
        const isWorthIt = prompt.source ? tokens >= 0 : tokens >= fewestShared;
        if (isWorthIt && tokens > (best?.tokens ?? -1)) best = { known, prompt: row, tokens };
      }
    return best;
  }

  /** All but the last token of it, which is read again anyway. */
  #isKnown(prompt: Prompt): boolean {
    return (this.#longest(prompt)?.tokens ?? -1) >= prompt.ids.length - 1;
  }
}

/** Whether whoever shares something with this prompt finds as much in what is newly known. */
function isWithin(old: Known, row: number, prompt: Prompt, known: Known): boolean {
  const { length } = prompt.ids;
  return known.prompts.some(
    (other, i) =>
      other &&
      sameSource(prompt, other) &&
      sharedTokens(prompt.ids, other.ids) === length &&
      known.reach(i, length) >= old.reach(row, length),
  );
}
