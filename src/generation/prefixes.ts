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
  readonly #most: () => number;
  /** The one that was used last is at the end. */
  readonly #known = new Set<Known>();

  /** So many bytes, which may become fewer or more: it is asked whenever something is looked for or added. */
  constructor(bytes: number | (() => number)) {
    if (typeof bytes === "number" && !(bytes >= 0))
      throw new ConfigError(`a number of bytes is wanted, 0 or more, not ${bytes}`, { at: "prefixes" });
    this.#most = typeof bytes === "number" ? () => bytes : bytes;
  }

  get bytes(): number {
    return [...this.#known].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The longest beginning of a prompt that is known and worth it. The last token is always left to be read, for its scores. */
  find(prompt: Prompt): Beginning | undefined {
    this.#shorten();
    const found = this.#longest(prompt);
    if (found) this.#use(found.known);
    return found;
  }

  /** Keeps what was read, if it is news and there is room. What it makes superfluous goes. */
  add(known: Known): void {
    if (known.bytes > this.#most() || known.prompts.every((prompt, i) => !prompt || this.#isKnown(known, i, prompt))) return;
    for (const old of this.#known)
      if (old.prompts.every((prompt, i) => !prompt || isWithin(old, i, prompt, known))) this.#known.delete(old);
    this.#use(known);
    this.#shorten();
  }

  clear(): void {
    this.#known.clear();
  }

  #shorten(): void {
    const most = this.#most();
    let { bytes } = this;
    for (const old of this.#known) {
      if (bytes <= most) return;
      this.#known.delete(old);
      bytes -= old.bytes;
    }
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

  /** All but the last token of it is enough, which is read again anyway. */
  #isKnown(known: Known, row: number, prompt: Prompt): boolean {
    return [...this.#known].some((old) => isWithin(known, row, prompt, old, prompt.ids.length - 1));
  }
}

/** Whether whoever shares something with a prompt, up to so many tokens of it, finds as much in what else is known. */
function isWithin(known: Known, row: number, { ids, source }: Prompt, other: Known, enough = ids.length): boolean {
  return other.prompts.some((prompt, i) => {
    if (!prompt || !sameSource({ ids, source }, prompt)) return false;
    const shared = sharedTokens(ids, prompt.ids);
    if (shared < enough) return false;
    for (const at of placesOf(known, row, ids.length)) if (other.reach(i, Math.min(at, shared)) < Math.min(at, enough)) return false;
    return true;
  });
}

/** Where a prompt can be gone on from, the last place first. */
function* placesOf(known: Known, row: number, length: number): Iterable<number> {
  let at = known.reach(row, length);
  for (; at > 0; at = known.reach(row, at - 1)) yield at;
  if (at === 0) yield at;
}
