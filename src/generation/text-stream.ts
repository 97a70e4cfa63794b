import type { Tokenizer } from "../tokens/tokenizer.ts";

/** What bytes that are no character, or not yet, are decoded to. */
const broken = "\uFFFD";

/** So many tokens before the new ones decide how they read: whether a space comes in between. */
const context = 8;

/**
 * Tokens to text, piece by piece. A piece never ends within a character, nor within what may turn out to be a stop string; both wait for
 * the tokens that follow.
 */
export class TextStream {
  readonly #tokenizer: Tokenizer;
  readonly #stops: readonly string[];
  /** Tokens whose text is known, for the ones that follow; and those that are not whole characters yet. */
  #before: number[];
  #open: number[] = [];
  #held = "";
  #text = "";
  #stopped = false;

  constructor(tokenizer: Tokenizer, prompt: ArrayLike<number> = [], stops: readonly string[] = []) {
    this.#tokenizer = tokenizer;
    this.#stops = stops.filter((stop) => stop.length > 0);
    this.#before = Array.from(prompt).slice(-context);
  }

  /** All that was given out. */
  get text(): string {
    return this.#text;
  }

  /** Whether a stop string was met. Nothing is given out after that. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** The text that is certain after this token; often a whole token, sometimes nothing. */
  push(token: number): string {
    this.#open.push(token);
    const text = this.#decoded();
    return text.endsWith(broken) ? "" : this.#give(text, false);
  }

  /** What was held back, when no token follows. A character that was never finished is left out. */
  end(): string {
    return this.#give(this.#decoded().replace(new RegExp(`${broken}+$`), ""), true);
  }

  /** The text of the open tokens, as it reads after those before. */
  #decoded(): string {
    const known = this.#tokenizer.decode(this.#before);
    return this.#tokenizer.decode([...this.#before, ...this.#open]).slice(known.length);
  }

  #give(text: string, last: boolean): string {
    this.#before = [...this.#before, ...this.#open].slice(-context);
    this.#open = [];
    if (this.#stopped) return "";
    const pending = this.#held + text;
    const stop = firstOf(pending, this.#stops);
    this.#stopped = stop >= 0;
    const safe = this.#stopped ? stop : last ? pending.length : pending.length - this.#unsure(pending);
    this.#held = this.#stopped ? "" : pending.slice(safe);
    this.#text += pending.slice(0, safe);
    return pending.slice(0, safe);
  }

  /** How much of a text's end is the beginning of a stop string. */
  #unsure(text: string): number {
    const most = Math.min(text.length, Math.max(0, ...this.#stops.map((stop) => stop.length - 1)));
    for (let length = most; length > 0; length--) {
      const end = text.slice(text.length - length);
      if (this.#stops.some((stop) => stop.startsWith(end))) return length;
    }
    return 0;
  }
}

/** Where the first of several strings begins, or −1. */
function firstOf(text: string, wanted: readonly string[]): number {
  const found = wanted.map((one) => text.indexOf(one)).filter((at) => at >= 0);
  return found.length > 0 ? Math.min(...found) : -1;
}
